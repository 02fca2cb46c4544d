import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Table from 'cli-table3';
import { createClient } from '../../client';
import type { Client } from '../../client';
import type { Victim } from '../ledger/killer';
import { Killer } from '../ledger/killer';
import { startChild } from '../support/child';
import type { Cleanup } from '../support/cleanup';
import { durationFlag, numberFlag, processFlags, seedFlag, shareFlag, switchFlag } from '../support/flags';
import { seededRandom } from '../support/random';
import { runTrial, startServers } from '../support/trial';
import { Hub } from './hub';
import { Queue } from './queue';

/**
 * A million items through an at-least-once queue to consumers that are killed in turns and ack
 * twice: all real, started here. No consumer counts; exactly one message says that the fan-out is
 * complete. Ends by itself with a table, and with exit code 1 if that was not so.
 */
const flags = processFlags(
  {
    name: 'npm run example:fanout --',
    summary:
      'Items through an at-least-once queue to consumers that are killed in turns and ack twice; exactly one message says that all is complete.',
    result:
      'A table on stdout, progress on stderr. Exit code 1 if it was not complete exactly once, or the store is not whole.',
    examples: ['', '--items 100000 --consumers 4 --kill-every 1s --json'],
  },
  {
    items: numberFlag(1_000_000, { text: 'items of the fan-out', min: 1 }),
    consumers: numberFlag(8, { text: 'consumer processes', min: 1, max: 64 }),
    'segment-size': numberFlag(8_000, { text: 'items a segment holds', min: 1, max: 8_000 }),
    'kill-every': durationFlag(300, 'the next consumer is killed so long after the last one is back; 0: no kills'),
    'visibility-ms': numberFlag(3_000, {
      text: 'a message that was not deleted comes back after so many milliseconds',
      unit: 'ms',
    }),
    'twice-share': shareFlag(0.2, 'share of batches that a consumer acks again'),
    seed: seedFlag(1),
    json: switchFlag('one line of JSON on stdout in place of the table'),
  },
);
const say = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(cleanup: Cleanup) {
  const queue = new Queue(flags['visibility-ms'], seededRandom(flags.seed), 0.02);
  const hub = new Hub(queue, `whsec_${randomBytes(24).toString('base64')}`);
  const stack = await startStack(cleanup, hub);
  const client = createClient({ databaseUrl: stack.databaseUrl, temporal: { address: stack.temporal } });
  cleanup.add('client', () => client.close());
  const killer = new Killer(stack.consumers, flags['kill-every'], () => undefined);
  const startedAt = performance.now();
  const { id } = await client.openFanout({
    userKey: 'the million',
    segmentSize: flags['segment-size'],
    notify: { url: `${stack.url}/hook` },
  });
  if (flags['kill-every'] > 0) killer.start();
  await produce(client, id, queue);
  const addedS = seconds(startedAt);
  say(`${flags.items} items added and sent after ${addedS} s; sealed`);
  const done = await client.waitForFanout(id, { onProgress: progress(startedAt) });
  const completeS = seconds(startedAt);
  say(`complete after ${completeS} s; what the queue still delivers is acked again`);
  while (!queue.isDone) await new Promise((resolve) => setTimeout(resolve, 100));
  await killer.stop();
  await hub.quiet();
  const { ok } = await client.verify({ full: true });
  const { rows } = await client.pool.query<{ events: number; bytes: number }>(
    `select (select count(*)::int from notification where fanout_id is not null) as events,
       (pg_total_relation_size('fanout') + pg_total_relation_size('segment') + pg_total_relation_size('fanout_add'))::float8 as bytes`,
  );
  return {
    items: done.items,
    state: done.state,
    consumers: flags.consumers,
    kills: killer.kills,
    delivered: queue.delivered,
    redelivered: queue.redelivered,
    idsAcked: hub.items,
    ackedFirst: hub.acked,
    reportedByCalls: hub.completed.length,
    events: rows[0]!.events,
    messages: hub.messages.size,
    messageUserKey: [...hub.messages.values()][0]?.userKey ?? null,
    addedS: Number(addedS),
    completeS: Number(completeS),
    itemsPerS: Math.round(done.items / Number(completeS)),
    bytesPerItem: Number((rows[0]!.bytes / done.items).toFixed(2)),
    // The call that reports it may be a consumer's that is killed before it can tell us; the event
    // and its message stay.
    isExactlyOnce:
      done.items === flags.items && rows[0]!.events === 1 && hub.messages.size === 1 && hub.completed.length <= 1,
    isWhole: ok,
  };
}

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);
const progress = (startedAt: number) => {
  let told = performance.now();
  return ({ items, open }: { items: number; open: number | null }): void => {
    if (performance.now() - told < 2_000) return;
    told = performance.now();
    say(`${seconds(startedAt)} s: ${items - (open ?? 0)} of ${items} acked`);
  };
};

/** Sends while it adds; memory holds what the queue holds. */
const produce = async (client: Client, id: string, queue: Queue): Promise<void> => {
  for await (const part of client.addItemsInParts(id, flags.items, { key: 'produce' })) queue.push(part);
  await client.sealFanout(id);
  queue.close();
};

async function startStack(cleanup: Cleanup, hub: Hub) {
  const { databaseUrl, temporal } = await startServers(cleanup);
  const server = createServer((request, response) => void hub.serve(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.add('queue', async () => {
    server.close();
    server.closeAllConnections();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = { MUSTER_DATABASE_URL: databaseUrl };
  const worker = await startChild(join(__dirname, 'worker.js'), ['--temporal', temporal], {
    env: { ...env, WEBHOOK_SECRET: hub.secret },
    readyMs: 120_000,
  });
  cleanup.add('worker', () => worker.stop());
  const start = (no: number) => () =>
    startChild(
      join(__dirname, 'consumer.js'),
      [
        '--queue',
        url,
        '--temporal',
        temporal,
        '--seed',
        String(flags.seed + no),
        '--twice-share',
        String(flags['twice-share']),
      ],
      { env, readyMs: 120_000 },
    );
  const consumers = await Promise.all(
    Array.from({ length: flags.consumers }, async (_, no): Promise<Victim> => {
      const victim: Victim = { name: `consumer ${no + 1}`, current: await start(no)(), start: start(no) };
      cleanup.add(victim.name, () => victim.current.stop());
      return victim;
    }),
  );
  say(`Postgres, Temporal at ${temporal}, a worker, ${consumers.length} consumers`);
  return { databaseUrl, temporal, url, consumers };
}

const describe = (result: Awaited<ReturnType<typeof run>>): string => {
  const table = new Table({ style: { head: [], border: [] } });
  const n = (value: number): string => value.toLocaleString('en-US');
  table.push(
    ['items', n(result.items)],
    ['consumers, kills (SIGKILL)', `${result.consumers}, ${result.kills}`],
    ['messages delivered, again', `${n(result.delivered)}, ${n(result.redelivered)}`],
    [
      'acks sent, of them the first of an item',
      `${n(result.idsAcked)}, ${n(result.ackedFirst)} (as far as consumers lived to tell)`,
    ],
    ['complete after', `${result.completeS} s, ${n(result.itemsPerS)} items/s`],
    ['bytes an item in the store', String(result.bytesPerItem)],
    ['calls that reported the completion', String(result.reportedByCalls)],
    ['events, signed messages', `${result.events}, ${result.messages} ("${result.messageUserKey}")`],
  );
  return [
    table.toString(),
    result.isExactlyOnce ? 'complete exactly once' : 'NOT EXACTLY ONCE',
    result.isWhole ? 'the store is whole' : 'the store is NOT whole: muster verify',
  ].join('\n');
};

runTrial({ run, describe, json: flags.json, isGood: ({ isExactlyOnce, isWhole }) => isExactlyOnce && isWhole });
