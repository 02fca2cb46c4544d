import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Batch, Handler, SubmitAnswer } from '../../handlers';
import { defineHandler } from '../../handlers';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';
import type { Receiver } from '../services/notifier/receiver';
import { SECRET, startReceiver } from '../services/notifier/receiver';

/**
 * Postgres takes no writes while calls end: what the downstream has done is known here only, and is
 * kept until it can be written.
 *
 * @slow
 */

interface Work {
  to: string;
}
const AWAY_MS = 3_000;
/** A mark lasts at least as long as a handler's timeout: nothing here waits for it to pass. */
const TIMEOUT_MS = 60_000;
const WITHIN_MS = 15_000;
const GRACE_MS = 4_000;
/** The SDK's own limit for what does not end in spite of its cancellation is 10 s. */
const BEYOND_GRACE_MS = 8_000;

let muster: TestMuster;
let receiver: Receiver;
let admin: pg.Client;
const calls: string[] = [];
/** Calls wait here for each other, and answer when Postgres takes no writes any more. */
let readOnly = (): void => undefined;
const isReadOnly = new Promise<void>((resolve) => (readOnly = resolve));

/** Makes the database read-only, for all sessions. */
const takeWritesAway = async ({ name }: TestMuster['database']): Promise<void> => {
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  await admin.query(
    'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
    [name],
  );
};
const giveWritesBack = ({ name }: TestMuster['database']): Promise<unknown> =>
  admin.query(`alter database ${name} reset default_transaction_read_only`);

const answering = (
  name: string,
  answer: (batch: Batch<Work>) => SubmitAnswer,
  options: Partial<Parameters<typeof defineHandler<Work>>[0]> = {},
): Handler =>
  defineHandler<Work>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 10 },
    linger: { lingerMs: 10 },
    timeoutMs: TIMEOUT_MS,
    submit: async (batch) => {
      calls.push(name);
      await isReadOnly;
      return answer(batch);
    },
    ...options,
  });

const okay = ({ tasks }: Batch<Work>): SubmitAnswer => ({
  results: tasks.map(({ id }) => ({ id, status: 'ok' as const, result: id })),
});
const refused = ({ tasks }: Batch<Work>): SubmitAnswer => ({
  results: tasks.map(({ id }, index) =>
    index === 0 ? { id, status: 'ok' as const } : { id, status: 'failed' as const, error: 'refused' },
  ),
});
const LARGE = 'x'.repeat(400_000);
const large = ({ tasks }: Batch<Work>): SubmitAnswer => ({
  results: tasks.map(({ id }) => ({ id, status: 'ok' as const, result: LARGE })),
});
const accepted = ({ handler }: Batch<Work>): SubmitAnswer => ({ status: 'accepted', reference: handler });
const asked = {
  status: async (references: readonly string[]) =>
    references.map((reference) => ({ reference, status: 'done' as const })),
  results: async function* (handler: string) {
    for (const i of [0, 1, 2, 3]) yield* await Promise.resolve([{ id: `${handler}-${i}`, status: 'ok' as const }]);
  },
  poll: { everyMs: 50, deadlineMs: 60_000 },
};
const LANE = { lane: {}, service: (target: string) => target, idempotency: { by: 'batch' as const } };

const ALL = ['succeeded', 'succeeded', 'succeeded', 'succeeded'];
const SOME = ['succeeded', 'failed', 'failed', 'failed'];
const CASES: [string, Handler, string[]][] = [
  ['all of its tasks succeeded', answering('succeeds', okay), ALL],
  ['some of its tasks failed', answering('fails', refused), SOME],
  ['its results are several pages', answering('large', large), ALL],
  ['it was accepted', answering('accepts', accepted, asked), ALL],
  ['in a lane, all of its tasks succeeded', answering('lane-succeeds', okay, LANE), ALL],
  ['in a lane, some of its tasks failed', answering('lane-fails', refused, LANE), SOME],
  ['in a lane, it was accepted', answering('lane-accepts', accepted, { ...LANE, ...asked }), ALL],
];
const told = defineHandler<Work>({
  name: 'told',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  submit: (batch) => Promise.resolve(okay(batch)),
});
const idsOf = (handler: string): string[] => [0, 1, 2, 3].map((i) => `${handler}-${i}`);

beforeAll(async () => {
  receiver = await startReceiver();
  receiver.answer = (response) => void isReadOnly.then(() => response.writeHead(204).end());
  muster = await startMuster([told, ...CASES.map(([, handler]) => handler)], {
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
  });
  admin = new pg.Client({ connectionString: muster.database.url, options: '-c default_transaction_read_only=off' });
  await admin.connect();
  for (const [, { name }] of CASES)
    await muster.client.submit(
      name,
      idsOf(name).map((id) => ({ id, payload: { to: name } })),
    );
  await muster.client.submit('told', { id: 'told', payload: { to: 'a' }, callback: { url: receiver.url } });
  await eventually(() => calls.length === CASES.length && receiver.received.length === 1);
  await takeWritesAway(muster.database);
  readOnly();
  await sleep(AWAY_MS);
  await giveWritesBack(muster.database);
});
afterAll(async () => {
  await admin.end();
  await muster.stop();
  await receiver.close();
});

test.each(CASES)('calls end while Postgres takes no writes: %s; none is made again', async (_, { name }, states) => {
  const { client } = muster;
  const ids = idsOf(name);
  const tasks = await eventually(
    async () => {
      const all = await Promise.all(ids.map((id) => client.getTask(id)));
      return all.every((task) => task !== null && ['succeeded', 'failed'].includes(task.state)) && all;
    },
    { timeoutMs: WITHIN_MS, what: async () => `${ids[0]} to end: ${(await client.explain(ids[0]!))?.text}` },
  );
  expect(tasks.map((task) => task!.state)).toEqual(states);
  expect(calls.filter((one) => one === name)).toHaveLength(1);
  if (name === 'large') expect(tasks.map((task) => task!.result)).toEqual(ids.map(() => LARGE));
  if (name.endsWith('succeeds')) expect(tasks.map((task) => task!.result)).toEqual(ids);
  await expectWhole(client);
});

test('a callback arrives while Postgres takes no writes: it is not sent again', async () => {
  const isOpen = async (): Promise<boolean> =>
    (await muster.database.pool.query('select from notification where done_at is null')).rowCount! > 0;
  await eventually(async () => !(await isOpen()), { timeoutMs: WITHIN_MS, what: 'the delivery to be recorded' });
  expect(receiver.received).toHaveLength(1);
});

test('a worker that stops while Postgres takes no writes gives an outcome up at the end of its grace', async () => {
  let answer = (): void => undefined;
  const gate = new Promise<void>((resolve) => (answer = resolve));
  let called = false;
  const other = await startMuster(
    [
      answering('stops', okay, {
        submit: async (batch) => {
          called = true;
          await gate;
          return okay(batch);
        },
      }),
    ],
    { shutdownGraceMs: GRACE_MS },
  );
  await other.client.submit('stops', { id: 'stops-0', payload: { to: 'a' } });
  await eventually(() => called);
  await takeWritesAway(other.database);
  answer();
  const begunMs = performance.now();
  await other.stop();
  expect(performance.now() - begunMs).toBeLessThan(GRACE_MS + BEYOND_GRACE_MS);
});
