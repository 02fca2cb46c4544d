import type { Batch, HandlerOptions, ReconcileAnswer, SubmitAnswer } from '../../handlers';
import { defineHandler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * A downstream whose look-up finds a call only some time after it: an `absent` is not believed
 * until the call is `absentAfterMs` old.
 */

const ABSENT_AFTER_MS = 1_000;
const FOUND_AFTER_MS = 500;
interface Work {
  to: string;
}

/** What the downstream knows of a target: calls, what it kept of them, what look-ups were told. */
interface Known {
  /** Ms since the batch's first call was marked, by the database's clock. */
  callsAtMs: number[];
  keptAt: number | null;
  lookUps: ReconcileAnswer['status'][];
}
const known = new Map<string, Known>();
const of = (target: string): Known => {
  const one = known.get(target) ?? { callsAtMs: [], keptAt: null, lookUps: [] };
  known.set(target, one);
  return one;
};
const okay = ({ tasks }: Batch<Work>) => tasks.map(({ id }) => ({ id, status: 'ok' as const }));

let muster: TestMuster;
/** Notes the call; the first is applied where the target says so. Returns which call it is. */
const arrives = async ({ id, target }: Batch<Work>): Promise<number> => {
  const one = of(target);
  const { rows } = await muster.database.pool.query<{ ms: number }>(
    `select extract(epoch from clock() - started_at)::float8 * 1000 as ms from batch where id = $1`,
    [id],
  );
  one.callsAtMs.push(rows[0]!.ms);
  if (target.startsWith('kept')) one.keptAt ??= performance.now();
  return one.callsAtMs.length;
};
const answersOrResets = async (batch: Batch<Work>): Promise<SubmitAnswer> => {
  if ((await arrives(batch)) === 1) throw new Error('connection reset');
  return { results: okay(batch) };
};
const reconcile = (batch: Batch<Work>): Promise<ReconcileAnswer> => {
  const { keptAt, lookUps } = of(batch.target);
  const isFound = keptAt !== null && performance.now() - keptAt >= FOUND_AFTER_MS;
  lookUps.push(isFound ? 'done' : 'absent');
  return Promise.resolve(isFound ? { status: 'done', results: okay(batch) } : { status: 'absent' });
};
const handler = (name: string, more: Partial<HandlerOptions<Work>> = {}) =>
  defineHandler<Work>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 2 },
    linger: { lingerMs: 10_000 },
    retry: { inPlace: { baseMs: 10 }, delayed: { baseMs: 10, maxMs: 20 } },
    submit: answersOrResets,
    reconcile,
    absentAfterMs: ABSENT_AFTER_MS,
    ...more,
  });

beforeAll(async () => {
  muster = await startMuster([
    handler('grouped'),
    handler('ordered', { service: (target) => target, lane: { lookUps: 3, lookUpEveryMs: 100 } }),
    handler('accepting', {
      submit: async (batch) => ({ status: 'accepted', reference: `${batch.target}/${await arrives(batch)}` }),
      // The first reference leads nowhere, the second is done.
      status: (references) =>
        Promise.resolve(
          references.map((reference) => ({ reference, status: reference.endsWith('/1') ? 'lost' : 'done' })),
        ),
      results: (reference) => [1, 2].map((n) => ({ id: `${reference.split('/')[0]}-${n}`, status: 'ok' })),
      poll: { everyMs: 50 },
    }),
  ]);
});
afterAll(() => muster.stop());

const HANDLERS = ['grouped', 'ordered', 'accepting'];
/** Sends two tasks to a target, and waits until both have succeeded. */
const send = async (name: string, to: string): Promise<Known> => {
  const { client } = muster;
  const ids = [1, 2].map((n) => `${to}-${n}`);
  await client.submit(
    name,
    ids.map((id) => ({ id, payload: { to } })),
  );
  const tasks = await client.waitFor(ids, { timeoutMs: 30_000 });
  expect(tasks.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  await expectWhole(client);
  return of(to);
};

test.each([
  ['kept', 'applied, and found later: it is not sent again'],
  ['gone', 'never applied: it is sent again once the first call is old enough'],
])('%s: %s', async (first) => {
  const all = await Promise.all(HANDLERS.map((name) => send(name, `${first}.${name}`)));
  const isKept = first === 'kept';
  for (const { callsAtMs, lookUps } of all) {
    expect(callsAtMs).toHaveLength(isKept ? 1 : 2);
    expect([lookUps[0], lookUps.at(-1)]).toEqual(['absent', isKept ? 'done' : 'absent']);
    expect(lookUps.length).toBeGreaterThanOrEqual(2);
    if (!isKept) expect(callsAtMs[1]).toBeGreaterThanOrEqual(ABSENT_AFTER_MS);
  }
});
