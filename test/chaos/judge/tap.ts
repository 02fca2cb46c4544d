import type { Pool } from '../../../postgres/pool';

/** Where a statement stands, seen from outside the product: prepared statements have names. */
export interface Statement {
  name: string;
  values: readonly unknown[];
  /** Names of the earlier statements of its transaction; null outside of one. */
  transaction: readonly string[] | null;
  /** After it: rows answered or written. */
  rows: number;
}
export interface Hooks {
  /** Called when a statement begins; what it returns, when it has ended, however it did. */
  begun?(): () => void;
  before?(statement: Statement): Promise<void>;
  /** May throw: then the statement was done, and its caller does not learn of it. */
  after?(statement: Statement): Promise<void>;
  /** Rows to answer in place of running the statement; undefined: it runs. */
  instead?(statement: Statement): readonly object[] | undefined;
  /** Another text under the same name, the same for all sessions of the pool. */
  rewrite?(name: string, text: string): string;
  /** What its caller gets to see of the rows. */
  seen?(name: string, rows: readonly object[]): readonly object[];
}

interface Query {
  name?: string;
  text: string;
  values?: readonly unknown[];
}
type Run = (...args: unknown[]) => Promise<{ rowCount: number | null; rows: readonly object[] }>;
interface Tappable {
  query: Run;
}
const TAPPED = Symbol('tapped');

/** Lets `hooks` hold every statement that goes through the pool, alone or in a transaction. */
export const tapPool = (pool: Pool, hooks: Hooks): Pool => {
  tap(pool, hooks, null);
  const take = pool.connect.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  pool.connect = ((...args: unknown[]) => {
    // The pool's own `query` takes its session with a callback; that statement was seen already.
    if (args.length > 0) return take(...args);
    return take().then((client) => {
      if (!(TAPPED in (client as object))) tap(client as Tappable, hooks, []);
      return client;
    });
  }) as typeof pool.connect;
  return pool;
};

const tap = (db: Tappable, hooks: Hooks, session: string[] | null): void => {
  Object.defineProperty(db, TAPPED, { value: true });
  const run: Run = db.query.bind(db);
  db.query = ((...args: unknown[]) => {
    const query = asQuery(args);
    return query === null ? run(...args) : hold(query, args, run, hooks, session);
  }) as Run;
};

const asQuery = (args: readonly unknown[]): Query | null => {
  const [first] = args;
  if (args.some((arg) => typeof arg === 'function')) return null;
  if (typeof first === 'string') return { text: first };
  const query = first as Query & { submit?: unknown };
  return typeof query?.text === 'string' && query.submit === undefined ? query : null;
};

const hold = async (
  query: Query,
  args: readonly unknown[],
  run: Run,
  hooks: Hooks,
  session: string[] | null,
): Promise<unknown> => {
  const name = query.name ?? query.text;
  if (name.startsWith('begin')) session?.splice(0);
  const transaction = session === null ? null : [...session];
  const statement: Statement = { name, values: query.values ?? [], transaction, rows: 0 };
  const ended = hooks.begun?.();
  try {
    await hooks.before?.(statement);
    const rows = hooks.instead?.(statement);
    if (hooks.rewrite !== undefined) args = [{ ...query, text: hooks.rewrite(name, query.text) }, ...args.slice(1)];
    const result = rows === undefined ? await run(...args) : { rows, rowCount: rows.length };
    if (hooks.seen !== undefined) result.rows = hooks.seen(name, result.rows);
    session?.push(name);
    await hooks.after?.({ ...statement, rows: result.rowCount ?? 0 });
    return result;
  } finally {
    ended?.();
  }
};
