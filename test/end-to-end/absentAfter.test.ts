import type { Batch, HandlerOptions, ReconcileAnswer, SubmitAnswer } from '../../handlers';
import { defineHandler } from '../../handlers';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * A downstream whose look-up finds a call only some time after it: an `absent` is not believed
 * until the call is `absentAfterMs` old.
 *
 * @slow
 */

const ABSENT_AFTER_MS = 1_000;
/** Of what is asked in another activity than the call, which is slow on a slow machine. */
const SLOWLY_ABSENT_MS = 4_000;
interface Work {
  to: string;
}
/** The call that each target's downstream applies; an earlier one is lost on the way. */
const APPLIED = { kept: 1, gone: 2, again: 2, partly: 2 };
type Case = keyof typeof APPLIED;

/** What the downstream knows of a target. */
class Known {
  /** Ms from the mark of the batch's first call to each call, by the database's clock. */
  readonly callsAtMs: number[] = [];
  readonly lookUps: ReconcileAnswer['status'][] = [];
  private findsFrom = Infinity;

  constructor(private readonly applied: number) {}

  called(atMs: number): number {
    if (this.callsAtMs.push(atMs) === this.applied) this.findsFrom = this.lookUps.length + 1; // not the next look-up
    return this.callsAtMs.length;
  }
  lookUp(): boolean {
    const isFound = this.lookUps.length >= this.findsFrom;
    this.lookUps.push(isFound ? 'done' : 'absent');
    return isFound;
  }
}
const known = new Map<string, Known>();
const okay = ({ tasks }: Batch<Work>) => tasks.map(({ id }) => ({ id, status: 'ok' as const }));

let muster: TestMuster;
const arrives = async ({ id, target }: Batch<Work>): Promise<number> => {
  const { rows } = await muster.database.pool.query<{ ms: number }>(
    `select extract(epoch from clock() - started_at)::float8 * 1000 as ms from batch where id = $1`,
    [id],
  );
  return known.get(target)!.called(rows[0]!.ms);
};
const answersOrResets = async (batch: Batch<Work>): Promise<SubmitAnswer> => {
  const answers = /^(gone|partly)/.test(batch.target) ? 2 : Infinity;
  if ((await arrives(batch)) < answers) throw new Error('connection reset');
  return { results: batch.target.startsWith('partly') ? okay(batch).slice(0, 1) : okay(batch) };
};
const reconcile = (batch: Batch<Work>): Promise<ReconcileAnswer> =>
  Promise.resolve(known.get(batch.target)!.lookUp() ? { status: 'done', results: okay(batch) } : { status: 'absent' });
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
/**
 * It accepts. The first reference leads nowhere, the second is done, unless the look-up is to find
 * it.
 */
const accepting = (name: string, more: Partial<HandlerOptions<Work>> = {}) =>
  handler(name, {
    submit: async (batch) => ({ status: 'accepted', reference: `${batch.target}/${await arrives(batch)}` }),
    status: (references) =>
      Promise.resolve(
        references.map((reference) => ({
          reference,
          status: reference.startsWith('again') || reference.endsWith('/1') ? 'lost' : 'done',
        })),
      ),
    results: (reference) => [1, 2].map((n) => ({ id: `${reference.split('/')[0]}-${n}`, status: 'ok' })),
    poll: { everyMs: 50 },
    absentAfterMs: SLOWLY_ABSENT_MS,
    ...more,
  });

/** Sends two tasks to a target, and waits until both have succeeded. */
const send = async (name: string, what: Case): Promise<Known> => {
  const to = `${what}.${name}`;
  known.set(to, new Known(APPLIED[what]));
  const ids = [1, 2].map((n) => `${to}-${n}`);
  const tasks = ids.map((id) => ({ id, payload: { to } }));
  await muster.client.submit(name, tasks);
  const ended = await muster.client.waitFor(ids, { timeoutMs: 60_000 });
  expect(ended.map(({ state }) => state)).toEqual(['succeeded', 'succeeded']);
  return known.get(to)!;
};
/** In a lane and in a partition a call is marked by another statement. */
const MARKED_OTHERWISE = ['accepting-in-order', 'accepting-on-nodes'] as const;
const sent = new Map<string, Promise<Known>>();
const outcomeOf = (name: string, what: Case): Promise<Known> => sent.get(`${what}.${name}`)!;

beforeAll(async () => {
  muster = await startMuster([
    handler('grouped'),
    handler('slowly', { absentAfterMs: SLOWLY_ABSENT_MS }),
    handler('ordered', { service: (target) => target, lane: { lookUps: 3, lookUpEveryMs: 100 } }),
    accepting('accepting'),
    accepting('accepting-in-order', { service: (target) => target }),
    accepting('accepting-on-nodes', { affinity: { partitions: 1 } }),
  ]);
  for (const name of ['grouped', 'ordered', 'accepting'])
    for (const what of ['kept', 'gone', 'again'] as const) sent.set(`${what}.${name}`, send(name, what));
  for (const name of MARKED_OTHERWISE) sent.set(`again.${name}`, send(name, 'again'));
  sent.set('partly.slowly', send('slowly', 'partly'));
  await Promise.allSettled(sent.values());
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

describe.each(['grouped', 'ordered', 'accepting'])('%s', (name) => {
  test('applied, and found later: it is not sent again [H3]', async () => {
    const { callsAtMs, lookUps } = await outcomeOf(name, 'kept');
    expect(callsAtMs).toHaveLength(1);
    expect([lookUps[0], lookUps.at(-1)]).toEqual(['absent', 'done']);
  });
  test('never applied: it is sent again once the first call is old enough', async () => {
    const { callsAtMs, lookUps } = await outcomeOf(name, 'gone');
    expect(callsAtMs).toHaveLength(2);
    expect(callsAtMs[1]).toBeGreaterThanOrEqual(name === 'accepting' ? SLOWLY_ABSENT_MS : ABSENT_AFTER_MS);
    expect(new Set(lookUps)).toEqual(new Set(['absent']));
  });
});

test.each(['grouped', 'ordered', 'accepting', ...MARKED_OTHERWISE])(
  '%s: applied by the second call, and found later: the age is that of the last call',
  async (name) => {
    const { callsAtMs, lookUps } = await outcomeOf(name, 'again');
    expect(callsAtMs).toHaveLength(2);
    expect(lookUps.at(-1)).toBe('done');
  },
);

test('applied by the second call, which answers for one of two: the age of the other is that of this call', async () => {
  const { callsAtMs, lookUps } = await outcomeOf('slowly', 'partly');
  expect(callsAtMs).toHaveLength(2);
  expect(lookUps.at(-1)).toBe('done');
});
