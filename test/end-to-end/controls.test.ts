import type { Handler, HandlerOptions } from '../../handlers';
import { defineHandler } from '../../handlers';
import type { TaskInput } from '../../client';
import { flushReasonName } from '../../workflows/planning/states';
import { eventually } from '../helpers/eventually';
import type { TestMuster } from '../helpers/muster';
import { startMuster } from '../helpers/muster';
import { expectWhole } from '../helpers/whole';

/**
 * G1: every control composes with batching and with every other one. All pairs, each pair a handler
 * of its own, all at the same time.
 */

interface Payload {
  name: string;
  key: string;
}
interface Call {
  ids: string[];
  startedAtMs: number;
  endedAtMs: number;
}
interface Control {
  options?: Partial<HandlerOptions<Payload>>;
  /** Changes to the tasks, by their name. */
  tasks?: Record<string, Partial<Omit<TaskInput<Payload>, 'payload'>> & { key?: string }>;
  check: (run: Run) => void | Promise<void>;
}
interface Batch {
  reason: string;
  createdMs: number;
  /** When its oldest task that came straight from its submit arrived; null: none. */
  oldestMs: number | null;
  newestMs: number | null;
}
interface Run {
  handler: string;
  calls: Call[];
  id: (name: string) => string;
  batches: Batch[];
  states: Record<string, { state: string; attempts: number }>;
}

const NAMES = ['key-1', 'key-2', 'urgent', 'later', 'again', 'never', 'told', 'plain'];
const LINGER_MS = 300;
const QUIET_MS = 150;
const DELAY_MS = 700;
const FAR = '2999-01-01T00:00:00Z';
const callsWith = (run: Run, name: string): Call[] => run.calls.filter((call) => call.ids.includes(run.id(name)));

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
    options: { linger: { lingerMs: 5_000, quietPeriodMs: QUIET_MS } },
    check: (run) => {
      for (const batch of run.batches)
        if (batch.reason === 'quiet' && batch.newestMs !== null)
          expect(batch.createdMs - batch.newestMs).toBeGreaterThanOrEqual(QUIET_MS);
    },
  },
  priority: {
    tasks: { urgent: { priority: -5 } },
    check: (run) => expect(run.calls[0]!.ids[0]).toBe(run.id('urgent')),
  },
  dedupe: {
    check: (run) => {
      for (const name of NAMES)
        expect(new Set(callsWith(run, name)).size).toBeLessThanOrEqual(name === 'again' ? 2 : 1);
    },
  },
  delay: {
    tasks: { later: { notBefore: 'DELAY' } },
    check: () => undefined,
  },
  'one at a time': {
    options: { concurrency: { perTarget: 1 } },
    check: (run) => {
      for (const [i, call] of run.calls.entries())
        if (i > 0) expect(call.startedAtMs).toBeGreaterThanOrEqual(run.calls[i - 1]!.endedAtMs);
    },
  },
  'rate of the handler': {
    options: { rate: { limit: 10, perMs: 1_000, unit: 'calls' } },
    // A call starts at its own time or later, so two of them may come closer than the pace, but
    // never three within two steps.
    check: (run) => {
      for (const [i, call] of run.calls.entries())
        if (i > 1) expect(call.startedAtMs - run.calls[i - 2]!.startedAtMs).toBeGreaterThan(90);
    },
  },
  'rate of the target': {
    options: { rate: { limit: 40, perMs: 1_000, unit: 'items', scope: 'target' } },
    check: (run) => expect(run.calls.length).toBeGreaterThan(0),
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
// 'delay' is checked against its own instant in the test below.
let muster: TestMuster;

const handlerOf = (a: string, b: string): Handler => {
  const merged = { ...controls[a]!.options, ...controls[b]!.options };
  const linger = { lingerMs: 50, ...controls[a]!.options?.linger, ...controls[b]!.options?.linger };
  const rate = [controls[a]!.options?.rate, controls[b]!.options?.rate].flat().filter((one) => one !== undefined);
  const tried = new Set<string>();
  const own: Call[] = [];
  calls.set(nameOf(a, b), own);
  return defineHandler<Payload>({
    ...merged,
    name: nameOf(a, b),
    target: () => 'one',
    limits: { maxItems: 4 },
    linger,
    ...(rate.length === 0 ? {} : { rate }),
    retry: { delayed: { baseMs: 60, maxMs: 60 } },
    submit: async (batch) => {
      const call: Call = { ids: batch.tasks.map((task) => task.id), startedAtMs: Date.now(), endedAtMs: Infinity };
      own.push(call);
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
});
afterAll(() => muster.stop());

const submit = async (a: string, b: string): Promise<number> => {
  const until = Date.now() + DELAY_MS;
  const tasks = NAMES.map((name): TaskInput<Payload> => {
    const { key, ...changes } = { key: name, ...controls[a]!.tasks?.[name], ...controls[b]!.tasks?.[name] };
    return {
      id: `${nameOf(a, b)}/${name}`,
      payload: { name, key },
      ...changes,
      ...('notBefore' in changes && changes.notBefore === 'DELAY' ? { notBefore: until } : {}),
    };
  });
  await muster.client.submit(nameOf(a, b), tasks);
  if (a === 'dedupe' || b === 'dedupe')
    expect(await muster.client.submit(nameOf(a, b), tasks)).toMatchObject({ accepted: 0, repeated: NAMES.length });
  if (a === 'cancel' || b === 'cancel')
    expect((await muster.client.cancel(`${nameOf(a, b)}/never`)).cancelled).toHaveLength(1);
  return until;
};

const readRun = async (a: string, b: string): Promise<Run> => {
  const handler = nameOf(a, b);
  const { pool } = muster.database;
  const { rows } = await pool.query<{
    reason: number;
    createdMs: number;
    oldestMs: number | null;
    newestMs: number | null;
  }>({
    text: `
select b.reason, extract(epoch from b.created_at)::float8 * 1000 as "createdMs", extract(epoch from min(k.created_at))::float8 * 1000 as "oldestMs",
  extract(epoch from max(k.created_at))::float8 * 1000 as "newestMs"
from batch b join target t on t.id = b.target_id join handler h on h.id = t.handler_id left join task k on k.seq = any(b.members) and k.id !~ '(later|again)$'
where h.name = $1 group by b.id order by b.id`,
    values: [handler],
  });
  const tasks = await muster.client.getTasks(NAMES.map((name) => `${handler}/${name}`));
  return {
    handler,
    calls: calls.get(handler)!,
    id: (name) => `${handler}/${name}`,
    batches: rows.map((row) => ({ ...row, reason: flushReasonName(row.reason) })),
    states: Object.fromEntries(
      tasks.map(({ id, state, attempts }) => [id.slice(handler.length + 1), { state, attempts }]),
    ),
  };
};

test(`G1: all ${pairs.length} pairs end with every task accounted for, and keep what each control promises`, async () => {
  const until = await Promise.all(pairs.map(([a, b]) => submit(a, b)));
  const ids = pairs.flatMap(([a, b]) => NAMES.map((name) => `${nameOf(a, b)}/${name}`));
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

test('a limit of every kind at once: items, bytes, weight, weight in flight (G4)', async () => {
  const sizes: { items: number; bytes: number; weight: number }[] = [];
  let inFlight = 0;
  let most = 0;
  const handler = defineHandler<{ n: number }>({
    name: 'limits',
    target: () => 'one',
    bytesOf: ({ n }) => 10 + (n % 7) * 5,
    weightOf: ({ n }) => 1 + (n % 5),
    limits: { maxItems: 10, maxBytes: 180, overheadBytes: 20, maxWeight: 25, maxWeightInFlight: { perHandler: 40 } },
    linger: { lingerMs: 30 },
    submit: async (batch) => {
      const of = (f: (n: number) => number): number => batch.tasks.reduce((sum, task) => sum + f(task.payload.n), 0);
      const weight = of((n) => 1 + (n % 5));
      sizes.push({ items: batch.tasks.length, bytes: 20 + of((n) => 10 + (n % 7) * 5), weight });
      most = Math.max(most, (inFlight += weight));
      await new Promise((resolve) => setTimeout(resolve, 10));
      inFlight -= weight;
      return { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) };
    },
  });
  const own = await startMuster([handler]);
  const tasks = Array.from({ length: 150 }, (_, n) => ({ id: `l-${n}`, payload: { n } }));
  await own.client.submit('limits', tasks);
  await own.client.waitFor(
    tasks.map((task) => task.id),
    { timeoutMs: 60_000 },
  );
  for (const { items, bytes, weight } of sizes) {
    expect(items).toBeLessThanOrEqual(10);
    expect(bytes).toBeLessThanOrEqual(180);
    expect(weight).toBeLessThanOrEqual(25);
  }
  expect(most).toBeLessThanOrEqual(40);
  expect(sizes.reduce((sum, { items }) => sum + items, 0)).toBe(150);
  await eventually(async () => (await own.client.verify()).ok, { timeoutMs: 5_000 });
  await own.stop();
});
