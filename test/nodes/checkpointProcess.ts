import { defineHandler } from '../../handlers';
import { runToEnd } from '../helpers/runToEnd';
import { say, serveNode, settings } from './serveNode';

/**
 * A node whose calls do steps without end, with a checkpoint after every fifth one. Its lines say
 * where a call began, which step it does, and what is stored.
 */

const steps = defineHandler<{ shop: string }>({
  name: 'steps',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  linger: { lingerMs: 10 },
  affinity: { partitions: settings().partitions },
  submit: async (batch, { signal, partition }) => {
    const last = await partition!.lastCheckpoint();
    let step = (last?.value as { step: number } | undefined)?.step ?? 0;
    const store = async (): Promise<void> => {
      const value = { step };
      await partition!.checkpoint(value);
      say({ stored: value });
    };
    say({ from: last });
    try {
      while (!signal.aborted) {
        say({ step: ++step });
        if (step % 5 === 0) await store();
        else await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } catch (error) {
      say({ refused: (error as Error).name });
    }
    return { results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) };
  },
});

runToEnd(() => serveNode(settings(), steps));
