import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Client } from '../../client';
import { createClient } from '../../client';
import { defineHandler } from '../../handlers';
import type { CliProcess } from '../cli/process';
import type { World } from '../cli/world';
import { createWorld } from '../cli/world';
import { temporalAddress } from '../helpers/database';
import { eventually } from '../helpers/eventually';
import { expectWhole } from '../helpers/whole';

/**
 * `coalesceBy` while the only worker is killed in the middle of a claim, of a call and of a
 * settlement, and another one is started: judged by what the downstream applied.
 *
 * @full
 */

const SETTINGS = {
  name: 'docs',
  limits: { maxItems: 8 },
  linger: { lingerMs: 100 },
  timeoutMs: 3_000,
  idempotency: { by: 'batch' as const },
};
const CONFIG = `
import { defineHandler } from 'temporal-muster';
export default [defineHandler({
  ...${JSON.stringify(SETTINGS)},
  target: ({ index }) => index,
  coalesceBy: ({ doc }) => doc,
  submit: async ({ tasks }, { idempotencyKey, signal }) => {
    const body = JSON.stringify({ key: idempotencyKey, tasks: tasks.map(({ id, payload }) => ({ id, ...payload })) });
    const response = await fetch(process.env.DOCS_URL, { method: 'POST', body, signal });
    if (!response.ok) throw new Error('HTTP ' + response.status);
    return { results: tasks.map(({ id }) => ({ id, status: 'ok' })) };
  },
})];
`;
/** Longer than a lease of a leader that died, and a start of a worker, on a busy machine. */
const MOST_MS = 30_000;
const INDEXES = 3;
const DOCS = 10;

interface Doc {
  index: string;
  doc: string;
  version: number;
}
interface Applied extends Doc {
  id: string;
  at: number;
}

/** A downstream that honours the idempotency key: it applies each call once, when it arrives. */
const applied: Applied[] = [];
const seen = new Set<string>();
let repeats = 0;
let gate = Promise.resolve();
const server = createServer((request, response) => {
  let body = '';
  request.on('data', (text: Buffer) => (body += text.toString()));
  request.on('end', () => {
    const { key, tasks } = JSON.parse(body) as { key: string; tasks: Omit<Applied, 'at'>[] };
    if (seen.has(key)) repeats++;
    else applied.push(...tasks.map((task) => ({ ...task, at: performance.now() })));
    seen.add(key);
    void gate.then(() => response.end('{}'));
  });
});

let world: World;
let client: Client;
let url: string;
beforeAll(async () => {
  world = await createWorld();
  world.write('muster.config.ts', CONFIG);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const docs = defineHandler<Doc>({
    ...SETTINGS,
    target: ({ index }) => index,
    coalesceBy: ({ doc }) => doc,
    submit: () => Promise.reject(new Error('the workers make the calls')),
  });
  client = createClient({
    databaseUrl: world.database.url,
    prefix: world.env['MUSTER_PREFIX']!,
    temporal: { address: temporalAddress() },
    handlers: [docs],
  });
});
afterAll(async () => {
  await client.close();
  await world.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const startWorker = async (): Promise<CliProcess> => {
  const worker = world.start('worker', { DOCS_URL: url });
  await worker.says(/"msg":"ready"/);
  return worker;
};
const kill = async (worker: CliProcess): Promise<void> => {
  worker.child.kill('SIGKILL');
  await worker.exit;
};

/** Submits the next versions of every document, each in turns with the others. */
const submitted: (Doc & { id: string })[] = [];
const submit = async (versions: number): Promise<void> => {
  const version = (submitted.at(-1)?.version ?? 0) + 1;
  for (let v = version; v < version + versions; v++) {
    const docs = Array.from({ length: INDEXES * DOCS }, (_, i) => {
      const [index, doc] = [`i${i % INDEXES}`, `d${i}`];
      return { index, doc, version: v, id: `${doc}.${v}` };
    });
    submitted.push(...docs);
    await client.submit(
      'docs',
      docs.map(({ id, ...payload }) => ({ id, payload })),
    );
  }
};

/** Keeps a table from being written while `work` runs: a statement that writes it waits. */
const without = async (table: 'batch' | 'member', work: () => Promise<void>): Promise<void> => {
  const session = await world.database.pool.connect();
  try {
    await session.query('begin');
    await session.query('set local idle_in_transaction_session_timeout = 0');
    await session.query(`lock table ${table} in share mode`);
    await work();
  } finally {
    await session.query('rollback').finally(() => session.release(true));
  }
};
const waits = async (statement: string): Promise<void> => {
  const { pool } = world.database;
  const held = async (): Promise<string[]> => {
    const { rows } = await pool.query<{ query: string }>(`
select query from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`);
    return rows.map(({ query }) => query);
  };
  await eventually(async () => (await held()).some((query) => query.includes(statement)), {
    timeoutMs: MOST_MS,
    what: async () => `a wait of ${statement}, not of ${(await held()).join(';')}`,
  });
};
const holdCalls = (): (() => void) => {
  let open = (): void => undefined;
  gate = new Promise((resolve) => (open = resolve));
  return () => open();
};

/** Each dies in the middle of something, with newer versions behind what it had in its hands. */
const DEATHS: Readonly<Record<string, (worker: CliProcess) => Promise<void>>> = {
  claim: (worker) =>
    without('member', async () => {
      await submit(3);
      await waits('insert into batch');
      await submit(2);
      await kill(worker);
    }),
  call: async (worker) => {
    const before = applied.length;
    const open = holdCalls();
    await submit(3);
    await eventually(() => applied.length > before, { timeoutMs: MOST_MS, what: 'a call' });
    await submit(2);
    await kill(worker);
    open();
  },
  settlement: async (worker) => {
    const before = applied.length;
    const open = holdCalls();
    await submit(3);
    await eventually(() => applied.length > before, { timeoutMs: MOST_MS, what: 'a call' });
    await without('batch', async () => {
      open();
      await waits('state = 4 /* succeeded */');
      await submit(2);
      await kill(worker);
    });
  },
};

test('killed in a claim, a call and a settlement: of every key the newest is sent, none twice, none lost', async () => {
  let worker = await startWorker();
  for (const [name, die] of Object.entries(DEATHS)) {
    await die(worker);
    const [diedAt, before] = [performance.now(), applied.length];
    worker = await startWorker();
    await eventually(() => applied.length > before, { timeoutMs: MOST_MS, what: `calls after the death in a ${name}` });
    expect(performance.now() - diedAt).toBeLessThan(MOST_MS);
  }
  const ids = submitted.map(({ id }) => id);
  const ended = await client.waitFor(ids, { timeoutMs: MOST_MS });
  const gone = new Map(ended.map(({ id, state }) => [id, state]));

  // Every task ended: as it was sent, or for a newer one of its key.
  expect(ended.map(({ id, state }) => [id, state])).toEqual(
    ids.map((id) => [id, applied.some((one) => one.id === id) ? 'succeeded' : 'cancelled']),
  );
  expect(new Set(applied.map(({ id }) => id)).size).toBe(applied.length);
  // What a call had in its hands when it died may come after the newer one.
  const newest = submitted.at(-1)!.version;
  for (const doc of new Set(submitted.map((one) => one.doc)))
    expect([doc, Math.max(...applied.filter((one) => one.doc === doc).map(({ version }) => version))]).toEqual([
      doc,
      newest,
    ]);
  // Some were left out, and a call came again: the deaths were where they are meant to be.
  expect([...gone.values()].filter((state) => state === 'cancelled').length).toBeGreaterThan(DOCS);
  expect(repeats).toBeGreaterThan(0);
  await expectWhole(client);
}, 300_000);
