import { defineHandler } from '../../handlers';
import { runToEnd } from '../helpers/runToEnd';
import { say, serveNode, settings } from './serveNode';

/**
 * A node in a separate process, whose event loop can be blocked. Its lines say who it is and what
 * it sends.
 */

/** From outside: `{block: ms}`. */
process.on('message', ({ block }: { block: number }) => {
  // Stands still without using up a core, which the other nodes of the test need.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, block);
  say({ blocked: block });
});

const orders = defineHandler<{ shop: string }>({
  name: 'orders',
  target: ({ shop }) => shop,
  limits: { maxItems: 1 },
  linger: { lingerMs: 10 },
  affinity: { partitions: settings().partitions },
  submit: (batch) => {
    say({ sent: batch.tasks[0]!.id, partition: batch.partition });
    return Promise.resolve({ results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })) });
  },
});

runToEnd(() => serveNode(settings(), orders));
