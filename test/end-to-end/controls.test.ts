import type { Handler, HandlerOptions, Rate } from '../../handlers';
import { defineHandler } from '../../handlers';
import type { TaskInput } from '../../client';
import { flushReasonName } from '../../workflows/planning/states';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectPermitted, recordMoves } from '../helpers/transitions/recorded';
import { expectWhole } from '../helpers/whole';
import type { Call } from './controls/calls';
import { expectInTurn } from './controls/calls';
import { Meeting } from './controls/meeting';
import type { Planned } from './controls/planned';
import { expectPaced, Starts } from './controls/planned';

/**
 * G1: every control composes with batching and with every other one. All pairs, each pair a handler
 * of its own, all at the same time.
 */

interface Payload {
  name: string;
  to: string;
  key: string;
}
interface Control {
  options?: Partial<HandlerOptions<Payload>>;
  /** Changes to the tasks, by their name. */
  tasks?: Record<string, Partial<Omit<TaskInput<Payload>, 'payload'>> & { key?: string }>;
  check: (run: Run) => void | Promise<void>;
}
interface Batch extends Planned {
  reason: string;
  ids: string[];
  /** When its oldest task that came straight from its submit arrived; null: none. */
  oldestMs: number | null;
  newestMs: number | null;
}
interface Run {
  handler: string;
  rates: readonly Rate[];
  calls: Call[];
  id: (name: string) => string;
  batches: Batch[];
  states: Record<string, { state: string; attempts: number }>;
}

const NAMES = ['key-1', 'key-2', 'urgent', 'later', 'again', 'never', 'told', 'plain'];
/** To a second target. */
const OTHERS = ['other-1', 'other-2', 'other-3', 'other-4', 'other-5'];
const ALL = [...NAMES, ...OTHERS];
const LINGER_MS = 300;
const QUIET_MS = 150;
const DELAY_MS = 700;
const FAR = '2999-01-01T00:00:00Z';
const callsWith = (run: Run, name: string): Call[] => run.calls.filter((call) => call.ids.includes(run.id(name)));

/** A call may start late, and the one after it on time: what is exact is when each may start. */
const expectAtTheirTimes = (run: Run): void => {
  expectPaced(run.batches, run.rates);
  for (const { ids, startAtMs } of run.batches) {
    const starts = run.calls.filter((call) => call.ids.join() === ids.join()).map(({ startedAtMs }) => startedAtMs);
    expect(Math.max(...starts)).toBeGreaterThan((startAtMs ?? 0) - 5);
  }
};
/** Of a handler with 'one per target' and not one at a time over all of them, by its name. */
const meetings: Record<string, Meeting> = {};

const controls: Record<string, Control> = {
  key: {
    options: { distinctBy: (payload) => payload.key },
    tasks: { 'key-1': { key: 'same' }, 'key-2': { key: 'same' } },
    check: (run) => {
      const [first, second] = [callsWith(run, 'key-1')[0]!, callsWith(run, 'key-2')[0]!];
      expect(first).not.toBe(second);
      expect(second.startedAtMs).toBeGreaterThanOrEqual(first.endedAtMs);
    },
  },
  linger: {
    options: { linger: { lingerMs: LINGER_MS } },
    check: (run) => {
      for (const batch of run.batches)
        if (batch.reason === 'linger' && batch.oldestMs !== null)
          expect(batch.createdMs - batch.oldestMs).toBeGreaterThanOrEqual(LINGER_MS);
    },
  },
  quiet: {
    options: { linger: { lingerMs: 60_000, quietPeriodMs: QUIET_MS } },
    check: (run) => {
      expect(run.batches.some(({ reason }) => reason === 'quiet')).toBe(true); // or all waited out the linger
      for (const batch of run.batches)
        if (batch.reason === 'quiet' && batch.newestMs !== null)
          expect(batch.createdMs - batch.newestMs).toBeGreaterThanOrEqual(QUIET_MS);
    },
  },
  priority: {
    tasks: { urgent: { priority: -5 } },
    check: (run) => expect(run.calls.find(({ target }) => target === 'one')!.ids[0]).toBe(run.id('urgent')),
  },
  dedupe: {
    check: (run) => {
      for (const name of ALL) expect(new Set(callsWith(run, name)).size).toBeLessThanOrEqual(name === 'again' ? 2 : 1);
    },
  },
  delay: {
    tasks: { later: { notBefore: 'DELAY' } },
    check: () => undefined,
  },
  'one per target': {
    options: { concurrency: { perTarget: 1 } },
    check: (run) => {
      for (const to of ['one', 'two']) expectInTurn(run.calls.filter(({ target }) => target === to));
      // The first call of each waits for one of the other, whatever the load.
      if (run.handler in meetings) expect(meetings[run.handler]!.isMet).toBe(true);
    },
  },
  'one per handler': {
    options: { concurrency: { perHandler: 1 } },
    check: (run) => expectInTurn(run.calls),
  },
  'rate of the handler': {
    options: { rate: { limit: 10, perMs: 1_000, unit: 'calls' } },
    check: (run) => expectAtTheirTimes(run),
  },
  'rate of the target': {
    // One leader for both: its claim has the pace of each in hand.
    options: { leaders: 1, rate: { limit: 40, perMs: 1_000, unit: 'items', scope: 'target' } },
    check: (run) => expectAtTheirTimes(run),
  },
  retry: {
    tasks: { again: {} },
    check: (run) => expect(run.states['again']).toEqual({ state: 'succeeded', attempts: 2 }),
  },
  cancel: {
    tasks: { never: { notBefore: FAR } },
    check: (run) => {
      expect(run.states['never']!.state).toBe('cancelled');
      expect(callsWith(run, 'never')).toHaveLength(0);
    },
  },
  dependency: {
    tasks: { plain: { dependsOn: ['told'] } },
    check: (run) =>
      expect(callsWith(run, 'plain')[0]!.startedAtMs).toBeGreaterThanOrEqual(callsWith(run, 'told')[0]!.endedAtMs),
  },
  callback: {
    tasks: { told: { callback: { workflowId: 'nobody' } } },
    check: async (run) => {
      const { rows } = await muster.database.pool.query({
        text: `select from notification n, jsonb_array_elements(n.body->'tasks') t where t->>'id' = $1`,
        values: [run.id('told')],
      });
      expect(rows).toHaveLength(1);
    },
  },
};

const pairs = Object.keys(controls).flatMap((a, i) =>
  Object.keys(controls)
    .slice(i + 1)
    .map((b) => [a, b] as const),
);
const nameOf = (a: string, b: string): string => `${a}-and-${b}`.replaceAll(' ', '_').slice(0, 64);
const calls = new Map<string, Call[]>();
const ratesOf = new Map<string, Rate[]>();
// 'delay' is checked against its own instant in the test below.
let muster: TestMuster;
let starts: Starts;

const handlerOf = (a: string, b: string): Handler => {
  const name = nameOf(a, b);
  const concurrency = { ...controls[a]!.options?.concurrency, ...controls[b]!.options?.concurrency };
  if (concurrency.perTarget === 1 && concurrency.perHandler === undefined) meetings[name] = new Meeting();
  const merged = { ...controls[a]!.options, ...controls[b]!.options };
  const linger = { lingerMs: 50, ...controls[a]!.options?.linger, ...controls[b]!.options?.linger };
  const rate = [controls[a]!.options?.rate, controls[b]!.options?.rate].flat().filter((one) => one !== undefined);
  ratesOf.set(name, rate);
  const tried = new Set<string>();
  const own: Call[] = [];
  calls.set(name, own);
  return defineHandler<Payload>({
    ...merged,
    name,
    target: ({ to }) => to,
    concurrency,
    limits: { maxItems: 4 },
    linger,
    ...(rate.length === 0 ? {} : { rate }),
    retry: { delayed: { baseMs: 60, maxMs: 60 } },
    submit: async (batch) => {
      const { target } = batch;
      const call: Call = {
        target,
        ids: batch.tasks.map((task) => task.id),
        startedAtMs: Date.now(),
        endedAtMs: Infinity,
      };
      own.push(call);
      await meetings[name]?.of(target);
      await new Promise((resolve) => setTimeout(resolve, 15));
      call.endedAtMs = Date.now();
      const withRetry = a === 'retry' || b === 'retry';
      return {
        results: batch.tasks.map((task) => {
          const retry = withRetry && task.payload.name === 'again' && !tried.has(task.id);
          tried.add(task.id);
          return { id: task.id, status: retry ? ('retry' as const) : ('ok' as const) };
        }),
      };
    },
  });
};

beforeAll(async () => {
  muster = await startMuster(pairs.map(([a, b]) => handlerOf(a, b)));
  await recordMoves(muster.database.pool);
  starts = new Starts(muster.database.pool);
});
afterAll(() => muster.stop());

const submit = async (a: string, b: string): Promise<number> => {
  const until = Date.now() + DELAY_MS;
  const tasks = ALL.map((name): TaskInput<Payload> => {
    const { key, ...changes } = { key: name, ...controls[a]!.tasks?.[name], ...controls[b]!.tasks?.[name] };
    return {
      id: `${nameOf(a, b)}/${name}`,
      payload: { name, key, to: NAMES.includes(name) ? 'one' : 'two' },
      ...changes,
      ...('notBefore' in changes && changes.notBefore === 'DELAY' ? { notBefore: until } : {}),
      ...(changes.dependsOn === undefined
        ? {}
        : { dependsOn: changes.dependsOn.map((needed) => `${nameOf(a, b)}/${needed}`) }),
    };
  });
  await muster.client.submit(nameOf(a, b), tasks);
  if (a === 'dedupe' || b === 'dedupe')
    expect(await muster.client.submit(nameOf(a, b), tasks)).toMatchObject({ accepted: 0, repeated: ALL.length });
  if (a === 'cancel' || b === 'cancel')
    expect((await muster.client.cancel(`${nameOf(a, b)}/never`)).cancelled).toHaveLength(1);
  return until;
};

const readRun = async (a: string, b: string): Promise<Run> => {
  const handler = nameOf(a, b);
  const { pool } = muster.database;
  const { rows } = await pool.query<Omit<Batch, 'reason' | 'startAtMs'> & { reason: number; members: string[] }>({
    text: BATCHES,
    values: [handler],
  });
  const tasks = await muster.client.getTasks(ALL.map((name) => `${handler}/${name}`));
  return {
    handler,
    rates: ratesOf.get(handler)!,
    calls: calls.get(handler)!,
    id: (name) => `${handler}/${name}`,
    batches: rows.map((row) => ({
      ...row,
      reason: flushReasonName(row.reason),
      startAtMs: starts.take(row.members.map(Number)),
    })),
    states: Object.fromEntries(
      tasks.map(({ id, state, attempts }) => [id.slice(handler.length + 1), { state, attempts }]),
    ),
  };
};
const BATCHES = `
select b.reason, t.key as target, b.n as items, b.members, extract(epoch from b.created_at)::float8 * 1000 as "createdMs",
  array(select k.id from unnest(b.members) with ordinality m (seq, at) join task k on k.seq = m.seq order by m.at) as ids,
  extract(epoch from min(k.created_at))::float8 * 1000 as "oldestMs", extract(epoch from max(k.created_at))::float8 * 1000 as "newestMs"
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id left join task k on k.seq = any(b.members) and k.id !~ '(later|again)$'
where h.name = $1 group by b.id, t.key order by b.id`;

test(`all ${pairs.length} pairs end with every task accounted for, and keep what each control promises [G1]`, async () => {
  const until = await Promise.all(pairs.map(([a, b]) => submit(a, b)));
  const ids = pairs.flatMap(([a, b]) => ALL.map((name) => `${nameOf(a, b)}/${name}`));
  await muster.client.waitFor(ids, { timeoutMs: 200_000 });
  const failures: string[] = [];
  for (const [i, [a, b]] of pairs.entries()) {
    const run = await readRun(a, b);
    for (const one of [a, b]) {
      try {
        if (one === 'delay') expect(callsWith(run, 'later')[0]!.startedAtMs).toBeGreaterThanOrEqual(until[i]!);
        else await controls[one]!.check(run);
      } catch (error) {
        failures.push(
          `${run.handler}: ${one}: ${(error as Error).message.replaceAll('\u001b', '')} ${JSON.stringify(run.calls)}`,
        );
      }
    }
  }
  expect(failures).toEqual([]);
  await expectWhole(muster.client);
}, 240_000);

// Last: it judges what the tests before it made.
test('each change of a state is one that the table of transitions permits', () =>
  expectPermitted(muster.database.pool, [
    'batch: open -> succeeded',
    'task: created -> cancelled',
    'task: in-progress -> created',
  ]));
