import { createStore } from '../../../examples/support/database';
import { startTemporalDev } from '../../../workers/embedded';
import { FlowBench } from './queuerFlow';
import type { Measure } from './queuerMeasure';

const FLOW_LANES = 100;

/** A downstream that takes no time: what is left is the queuer. */
export const throughTemporal = async (postgresUrl: string, print: (measure: Measure) => void): Promise<void> => {
  const temporal = await startTemporalDev({ ui: false, log: () => undefined });
  let flow: FlowBench | undefined;
  try {
    flow = await FlowBench.open(await createStore(postgresUrl, 'flow'), temporal);
    await flow.run({ kind: 'answers', batches: 200, lanes: FLOW_LANES, submitters: 8 }); // warm
    for (const [kind, submitters, batches] of [
      ['answers', 1, 1_000],
      ['answers', 8, 3_000],
      ['answers', 64, 6_000],
      ['accepts', 64, 3_000],
    ] as const) {
      const { batchesPerSecond, actionsPerBatch } = await flow.run({ kind, batches, lanes: FLOW_LANES, submitters });
      const how = kind === 'answers' ? 'answered at once' : 'accepted, polled every 50 ms';
      const of = `${submitters} submitters, ${FLOW_LANES} serial lanes, ${how}`;
      print({ measure: `batches a second through Temporal: ${of}`, value: batchesPerSecond });
      print({
        measure: `actions a batch: ${of}`,
        value: actionsPerBatch,
        promise: 'below 1',
        kept: actionsPerBatch < 1,
      });
    }
  } finally {
    await flow?.close();
    await temporal.stop();
  }
};
