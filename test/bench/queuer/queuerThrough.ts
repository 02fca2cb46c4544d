import { createStore } from '../../../examples/support/database';
import { startTemporalDev } from '../../../workers/embedded';
import { FlowBench } from './queuerFlow';
import type { Measure } from './queuerMeasure';

const MOST_LANES = 100;
/** At least so many batches in each lane of the largest run. */
const PER_LANE = 12;
const WARM = 200;

/** A downstream that takes no time: what is left is the queuer. `most` batches in a run. */
export const throughTemporal = async (
  postgresUrl: string,
  most: number,
  print: (measure: Measure) => void,
): Promise<void> => {
  const lanes = Math.min(MOST_LANES, Math.floor(most / PER_LANE));
  const temporal = await startTemporalDev({ ui: false, log: () => undefined });
  let flow: FlowBench | undefined;
  try {
    flow = await FlowBench.open(await createStore(postgresUrl, 'flow'), temporal);
    await flow.run({ kind: 'answers', batches: Math.min(WARM, most / 4), lanes, submitters: 8 }); // warm
    for (const [kind, submitters, batches] of [
      ['answers', 1, most / 6],
      ['answers', 8, most / 2],
      ['answers', 64, most],
      ['accepts', 64, most / 2],
    ] as const) {
      const { batchesPerSecond, actionsPerBatch, sentPerBatch, overtaken } = await flow.run({
        kind,
        batches: Math.floor(batches),
        lanes,
        submitters,
      });
      const how = kind === 'answers' ? 'answered at once' : 'accepted, polled every 50 ms';
      const of = `${submitters} submitters, ${lanes} serial lanes, ${how}`;
      print({ measure: `batches a second through Temporal: ${of}`, value: batchesPerSecond });
      print({
        measure: `actions a batch: ${of}`,
        value: actionsPerBatch,
        promise: 'below 1',
        kept: actionsPerBatch < 1,
      });
      print({
        measure: `calls a batch, and batches sent before the one ahead had ended: ${of}`,
        value: { sentPerBatch, overtaken },
        promise: '1 and 0',
        kept: sentPerBatch === 1 && overtaken === 0,
      });
    }
  } finally {
    await flow?.close();
    await temporal.stop();
  }
};
