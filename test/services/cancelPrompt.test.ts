import pino from 'pino';
import { Cancellations } from '../../activities/accepted/cancellations';
import { defineHandler } from '../../handlers';
import type { Handler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';

/**
 * The downstream is asked to stop what a decision by hand gave up, at once: no sweeper runs here,
 * so nobody else would find it.
 *
 * @slow
 */

const TIMEOUT_MS = 1_000;
const cancels: string[] = [];
let lost = false;
const define = (name: string, laned: boolean): Handler =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 8 },
    linger: { lingerMs: 0 },
    timeoutMs: TIMEOUT_MS,
    poll: { everyMs: 100, deadlineMs: 600_000 },
    submit: async ({ target }) => ({ status: 'accepted', reference: target }),
    status: async (references) => references.map((reference) => ({ reference, status: lost ? 'lost' : 'pending' })),
    results: () => [],
    cancel: async (reference) => {
      cancels.push(reference);
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
    ...(laned ? { service: (target: string) => target } : {}),
  });
const plain = define('plain', false);

let muster: OwnMuster;
beforeAll(async () => {
  muster = await openOwn([plain, define('laned', true)]);
  await muster.startNode();
});
afterAll(() => muster.stop());
beforeEach(() => {
  lost = false;
});

const query = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
  (await muster.database.pool.query(text, values)).rows as Record<string, unknown>[];
/** Accepted batches, each of one task, by their numbers. */
const accept = async (handler: string, ...targets: string[]): Promise<number[]> => {
  await muster.client.submit(
    handler,
    targets.map((to) => ({ id: to, payload: { to } })),
  );
  await eventually(
    async () => (await query('select from batch where reference = any($1)', [targets])).length === targets.length,
  );
  return (await query('select id from batch where reference = any($1)', [targets])).map(({ id }) => Number(id));
};
/** Parked, its monitor at rest. */
const park = async (handler: string, target: string): Promise<number> => {
  const [batch] = await accept(handler, target);
  lost = true;
  await eventually(async () => (await muster.client.getTask(target))?.state === 'unknown');
  return batch!;
};
const called = (target: string, times: number): Promise<unknown> =>
  eventually(() => cancels.filter((one) => one === target).length === times, {
    what: () => `${times} cancel of ${target}; called: ${cancels.join(', ')}`,
    timeoutMs: 30_000,
  });

test.each<[string, string, (batch: number, target: string) => Promise<unknown>]>([
  ['resolve of a batch', 'plain', (batch) => muster.client.resolve({ batch }, { as: 'failed' })],
  ['resolve of tasks', 'plain', (_, target) => muster.client.resolve({ tasks: [target] }, { as: 'failed' })],
  [
    'redrive',
    'plain',
    async (_, target) => {
      await muster.client.pause('plain', { target }); // sent again, it would be accepted, and its monitor woken for that
      await muster.client.redrive('plain', { only: 'unknown', target });
    },
  ],
  [
    'lane skip',
    'laned',
    async (_, target) => {
      await eventually(async () => (await muster.client.explain(target)).text.includes('halted'));
      await muster.client.skipHead(target);
    },
  ],
])('%s: the handler’s cancel is called without a sweeper', async (what, handler, decide) => {
  const target = what.replaceAll(' ', '-');
  const batch = await park(handler, target);
  await decide(batch, target);
  await called(target, 1);
});

test('a caller’s cancel is called without a sweeper', async () => {
  const [batch] = await accept('plain', 'by-caller');
  await muster.client.cancelBatch(batch!);
  await called('by-caller', 1);
  await eventually(async () => (await muster.client.batch(batch!))!.cancellation?.state === 'confirmed');
});

test('an answer that was not recorded (its process died behind the call): called once more when the lease is over, not before', async () => {
  await query(`create function lose_one() returns trigger language plpgsql as $$ begin
    if (select count(*) from pg_class where relname = 'lost_once') = 0 then create table lost_once (); return null; end if; return new; end $$`);
  await query(
    `create trigger lose_one before update on cancellation for each row when (new.state <> 0 and new.reference = 'unrecorded') execute function lose_one()`,
  );
  const [batch] = await accept('plain', 'unrecorded');
  const begun = performance.now();
  await muster.client.cancelBatch(batch!);
  await called('unrecorded', 1);
  await called('unrecorded', 2);
  expect(performance.now() - begun).toBeGreaterThan(TIMEOUT_MS + 4_900);
  await eventually(async () => (await muster.client.batch(batch!))!.cancellation?.state === 'confirmed');
  expect((await muster.client.batch(batch!))!.cancellation).toMatchObject({ tries: 2 });
  await query('drop trigger lose_one on cancellation');
});

test('two processes at once: each batch is called once in a lease', async () => {
  const targets = Array.from({ length: 12 }, (_, i) => `twice-${i}`);
  const batches = await accept('plain', ...targets);
  await query(
    `insert into cancellation (batch_id, handler_id, reference, why, next_at, requested_at)
     select b.id, t.handler_id, b.reference, 0, clock(), clock() from batch b join target t on t.id = b.target_id where b.id = any($1)`,
    [batches],
  );
  const { pool } = muster.database;
  const log = pino({ level: 'silent' });
  const deps = { pool, sealer: null, draining: new AbortController().signal, log };
  const processes = [1, 2].map(() => new Cancellations(deps, plain, new AbortController().signal));
  const running = processes.map((one) => one.run());
  for (const one of processes) one.end();
  await Promise.all(running);
  await eventually(
    async () =>
      (await query('select from cancellation where batch_id = any($1) and state = 0', [batches])).length === 0,
  );
  expect(cancels.filter((one) => one.startsWith('twice-')).sort()).toEqual(targets.sort());
});
