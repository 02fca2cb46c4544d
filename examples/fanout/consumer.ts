import { createClient } from '../../client';
import { numberFlag, processFlags, seedFlag, shareFlag, temporalFlag, textFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { onEnd, runMain } from '../support/server';

/**
 * A consumer process: receives messages, acks their items, deletes them from the queue. It may be
 * killed between any two of these; and it is careless: it acks much of what it has twice, and some
 * of what it had before once more.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/fanout/consumer.js',
    summary:
      'A consumer of the fan-out example: receives messages, acks their items, deletes them. The store comes from MUSTER_DATABASE_URL.',
    examples: ['--queue http://127.0.0.1:4499 --temporal localhost:7233'],
  },
  {
    queue: textFlag('http://127.0.0.1:1', { text: 'where the queue is', as: 'url' }),
    temporal: temporalFlag(),
    batch: numberFlag(500, { text: 'most messages of one receive', min: 1, max: 10_000 }),
    'twice-share': shareFlag(0.2, 'share of batches that are acked again'),
    seed: seedFlag(1),
  },
);

async function call<T>(path: string, body: object): Promise<T> {
  const response = await fetch(`${flags.queue}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

async function main(): Promise<void> {
  const databaseUrl = process.env['MUSTER_DATABASE_URL'] ?? '';
  const client = createClient({ databaseUrl, temporal: { address: flags.temporal }, maxConnections: 2 });
  const random = seededRandom(flags.seed);
  let isStopping = false;
  onEnd(() => Promise.resolve(void (isStopping = true))); // whatever it was doing: that is what acks are for
  process.stdout.write(`${JSON.stringify({ ready: true, port: 0 })}\n`);
  let before: string[] = [];
  while (!isStopping) {
    const { receipt, ids, done } = await call<{ receipt: number; ids: string[]; done: boolean }>('receive', {
      max: flags.batch,
    });
    if (done) break;
    if (ids.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      continue;
    }
    const again = random() < flags['twice-share'] ? [...ids, ...before] : [];
    for (const part of again.length > 0 ? [ids, again] : [ids]) {
      const { acked, items, completed } = await client.ackItems(part, { idsPerCall: 1_000 });
      await call('acked', { items, acked, completed: completed.map(({ id }) => id) });
    }
    await call('delete', { receipt });
    before = ids;
  }
  await client.close();
}

runMain(() =>
  main().catch((error: unknown) => {
    // The example has ended, and with it the queue.
    if (error instanceof TypeError && /fetch failed/.test(error.message)) return;
    throw error;
  }),
);
