import type { Client, TaskInput } from '../../../client';
import { createClient } from '../../../client';
import { defineHandler } from '../../../handlers';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, NO_TEMPORAL } from '../../helpers/database';

/** A store into which large calls go, and what is seen of how they do. */

export interface Order {
  to: string;
  fault?: string;
}

export const COUNT = 2_000;

export const seen = {
  database: undefined as unknown as TestDatabase,
  client: undefined as unknown as Client,
  /** Tasks that were checked since the last call began. */
  checked: 0,
  /** How many had been checked when they began to be stored. */
  begun: [] as number[],
  /** How many had been checked when what was stored of the call was undone. */
  undone: [] as number[],
  /** What happens on a connection on which a large call has begun. */
  atBegin: null as ((pid: number) => Promise<void>) | null,
};

export const base = {
  name: 'orders',
  target: ({ to, fault }: Order) => {
    seen.checked++;
    if (fault !== undefined) throw new Error(fault);
    return to;
  },
  limits: { maxItems: 100_000 },
  linger: { lingerMs: 3_600_000 },
  submit: () => Promise.resolve({ results: [] }),
};
const handler = defineHandler<Order>(base);

/** Opens the store for the tests of a file; each has a client that knows ten targets. */
export const useLargeCalls = (): void => {
  beforeAll(async () => {
    seen.database = await createDatabase();
    seen.database.pool.on('connect', (session) => {
      const query = session.query.bind(session) as (...args: unknown[]) => unknown;
      session.query = ((first: { name?: string }, ...rest: unknown[]) => {
        if (first.name === 'begin-copy') seen.begun.push(seen.checked);
        if ((first as unknown) === 'rollback') seen.undone.push(seen.checked);
        const answer = query(first, ...rest);
        if (first.name !== 'begin-copy' || seen.atBegin === null) return answer;
        return (answer as Promise<unknown>).then(async (rows) => {
          await seen.atBegin!((session as unknown as { processID: number }).processID);
          return rows;
        });
      }) as typeof session.query;
    });
  });
  afterAll(async () => {
    await Promise.all(clients.splice(0).map((one) => one.close()));
    await seen.database.drop();
  });
  beforeEach(async () => {
    seen.client = clientWith();
    await seen.client.submit('orders', call(`known-${Math.random()}`).slice(0, 10));
  });
};

const clients: Client[] = [];
export const clientWith = (options = {}): Client => {
  const { url, pool } = seen.database;
  const made = createClient({ databaseUrl: url, pool, temporal: NO_TEMPORAL, handlers: [handler], ...options });
  clients.push(made);
  return made;
};

/** Tasks of one call; `last`: what is other about the last one. */
export const call = (name: string, last: Partial<TaskInput<Order>> = {}): TaskInput<Order>[] =>
  Array.from({ length: COUNT }, (_, i) => ({
    id: `${name}-${i}`,
    payload: { to: `t${i % 10}` },
    ...(i === COUNT - 1 ? last : {}),
  }));

/** Forgets what was seen of earlier calls. */
export const look = (): void => void Object.assign(seen, { checked: 0, begun: [], undone: [] });

export const submit = async (tasks: TaskInput<Order>[], options = {}) => {
  look();
  return seen.client.submit('orders', tasks, options);
};
export const overlapped = (): boolean => seen.begun.some((n) => n < COUNT);

/** Rows of the tasks of a call, by table. */
interface Rows {
  tasks: number;
  queued: number;
  delayed: number;
  held: number;
  late: number;
  told: number;
}
export const stored = async (name: string): Promise<Rows> => {
  const { rows } = await seen.database.pool.query<Rows>(
    `select count(*)::int as tasks, count(q.seq)::int as queued, count(d.seq)::int as delayed,
       count(h.seq)::int as held, count(e.seq)::int as late, count(k.recipient_id)::int as told
     from task k left join queue q using (seq) left join delayed d using (seq) left join held h using (seq)
       left join expiry e using (seq)
     where k.id like $1`,
    [`${name}-%`],
  );
  return rows[0]!;
};
export const nothing: Rows = { tasks: 0, queued: 0, delayed: 0, held: 0, late: 0, told: 0 };
export const whole: Rows = { ...nothing, tasks: COUNT, queued: COUNT };
export const all = { accepted: COUNT, repeated: 0 };
