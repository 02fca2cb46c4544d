import type pg from 'pg';
import type { Batch, Handler, HandlerOptions, ItemResult, ReconcileAnswer, ReferenceStatus } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/**
 * A downstream that accepts batches and finishes them when a test says so. Each test has targets,
 * so references, of its own.
 */
export interface Accepted {
  ids: string[];
  key: string;
  status: ReferenceStatus['status'];
  error?: string;
  results?: () => AsyncIterable<ItemResult> | ItemResult[];
}
export const accepted = new Map<string, Accepted>();
export const asked: string[][] = [];
/** What the status call does next, if not answer; and what a look-up finds. */
export const script = {
  interrupt: null as ((references: readonly string[]) => void) | null,
  reconciled: (_batch: Batch): ReconcileAnswer | Promise<ReconcileAnswer> => ({ status: 'unsure' }),
  /** A status call answers after it. */
  hold: Promise.resolve(),
};

export const referencesOf = (target: string): string[] =>
  [...accepted.keys()].filter((reference) => reference.startsWith(`${target}/`));
export const oks = (ids: readonly string[]): ItemResult[] =>
  ids.map((id) => ({ id, status: 'ok', result: `done ${id}` }));

const define = (name: string, more: Partial<HandlerOptions> = {}): Handler =>
  defineHandler({
    name,
    target: (payload) => (payload as { to: string }).to,
    limits: { maxItems: 8 },
    linger: { lingerMs: 50 },
    concurrency: { perTarget: 50, perHandler: 200 },
    retry: { delayed: { baseMs: 50, maxMs: 100 }, maxAttempts: 3 },
    poll: { everyMs: 200, deadlineMs: 60_000 },
    submit: async (batch, { idempotencyKey }) => {
      const reference = `${batch.target}/${referencesOf(batch.target).length + 1}`;
      accepted.set(reference, { ids: batch.tasks.map((task) => task.id), key: idempotencyKey, status: 'pending' });
      return { status: 'accepted', reference };
    },
    status: async (references) => {
      asked.push([...references]);
      script.interrupt?.(references);
      await script.hold;
      return references.map((reference) => {
        const { status = 'lost', error } = accepted.get(reference) ?? {};
        return { reference, status, ...(error === undefined ? {} : { error }) };
      });
    },
    results: (reference) => {
      const { ids, results } = accepted.get(reference)!;
      return results === undefined ? oks(ids) : results();
    },
    ...more,
  });
const handlers = [
  define('plain'),
  define('rare', { poll: { everyMs: 3_600_000, deadlineMs: 36_000_000 } }),
  define('by-batch', { idempotency: { by: 'batch' } }),
  define('finder', { reconcile: async (batch) => script.reconciled(batch) }),
  define('hasty', { poll: { everyMs: 200, deadlineMs: 1_000 } }),
  define('heavy', { limits: { maxItems: 1, maxWeightInFlight: { perHandler: 2 } }, leaders: 2 }),
];

let running: TestMuster | undefined;
/** The Muster of this test file, between `startAccepting` and `stopAccepting`. */
export const muster = (): TestMuster => running!;
export const startAccepting = async (): Promise<void> => {
  running = await startMuster(handlers);
};
export const stopAccepting = (): Promise<void> => muster().stop();
export const behave = (): void => {
  script.interrupt = null;
  script.hold = Promise.resolve();
  script.reconciled = () => ({ status: 'unsure' });
};

export const query = async <R extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<R[]> =>
  (await muster().database.pool.query<R>({ text, values })).rows;
const NAMES = ['created', 'batched', 'in-progress', 'unknown', 'succeeded', 'failed', 'dead', 'cancelled'];
export const states = async (target: string): Promise<Record<string, string>> => {
  const rows = await query<{ id: string; state: number; attempts: number }>(
    `select s.id, s.state, s.attempts from task_state s join target t on t.id = s.target_id where t.key = $1 order by s.seq`,
    [target],
  );
  return Object.fromEntries(rows.map(({ id, state, attempts }) => [id, `${NAMES[state]} ${attempts}`]));
};
/** Submits `n` tasks of a target in one batch and answers its reference once it was accepted. */
export const accept = async (handler: string, target: string, n = 3): Promise<string> => {
  await muster().client.submit(
    handler,
    Array.from({ length: n }, (_, i) => ({ id: `${target}-${i}`, payload: { to: target } })),
  );
  const text =
    'select b.reference from batch b join target t on t.id = b.target_id where t.key = $1 and b.reference is not null';
  return (await eventually(async () => (await query<{ reference: string }>(text, [target]))[0])).reference;
};
export const become = (target: string, expected: Record<string, string>): Promise<unknown> =>
  eventually(async () => JSON.stringify(await states(target)) === JSON.stringify(expected), {
    timeoutMs: 30_000,
    what: async () => `${JSON.stringify(expected)}, it is ${JSON.stringify(await states(target))}`,
  });
export const all = (target: string, state: string, n = 3): Record<string, string> =>
  Object.fromEntries(Array.from({ length: n }, (_, i) => [`${target}-${i}`, state]));
export const errorOf = async (target: string): Promise<string | null> =>
  (
    await query<{ error: string | null }>(
      `select b.error from batch b join target t on t.id = b.target_id where t.key = $1 order by b.id desc limit 1`,
      [target],
    )
  )[0]!.error;
/** How many tasks whose ids match have succeeded. */
export const succeededOf = async (ids: string): Promise<number> =>
  (await query<{ n: number }>('select count(*) as n from task_state where id ~ $1 and state = 4', [ids]))[0]!.n;
export const pausedTargets = (handler: string): Promise<{ key: string; reason: string | null }[]> =>
  query(
    'select t.key, t.pause_reason as reason from target t join handler h on h.id = t.handler_id where h.name = $1 and t.paused',
    [handler],
  );
