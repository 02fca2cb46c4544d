import { makeCall, prepare } from '../../activities/calls/attempt';
import { settle } from '../../activities/calls/settle';
import type { Handler } from '../../handlers';
import { defineHandler } from '../../handlers';
import { readDispatch } from '../../postgres/calls/batch';
import { createPool } from '../../postgres/pool';
import type { TurnAnswer } from '../../workflows/messages';
import type { Bench } from '../workflows/bench';
import { openBench } from '../workflows/bench';
import { fillStore } from '../bench/measures/operationsStore';
import type { Read } from '../helpers/plans/reads';
import { explainSessions, readsIn } from '../helpers/plans/reads';

/**
 * The rows that each statement of grouping reads, as the server counted them, in a store full of
 * the rows of another handler.
 */
const FOREIGN = 20_000;
/** More than a statement of this test has rows of its own to read. */
const FEW = 50;
const HELD = ['task', 'queue', 'delayed', 'member', 'outcome', 'batch', 'target'];

interface Order {
  to: string;
  key: string;
}
const handlerOf = (name: string, keyed: boolean): Handler => {
  const asked = new Set<string>();
  return defineHandler<Order>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 4 },
    linger: { lingerMs: 0 },
    leaders: 1,
    ...(keyed ? { distinctBy: ({ key }: Order) => key } : {}),
    retry: { delayed: { baseMs: 1, maxMs: 1 } },
    submit: (batch) =>
      Promise.resolve({
        results: batch.tasks.map(({ id }) => {
          const isNew = !asked.has(id);
          asked.add(id);
          if (id.endsWith('bad')) return { id, status: 'failed' as const, error: 'no' };
          return { id, status: isNew && id.endsWith('again') ? ('retry' as const) : ('ok' as const) };
        }),
      }),
  });
};
const handlers = [handlerOf('orders', false), handlerOf('keyed', true)];

let bench: Bench;
/** What each statement of Muster's read, by its name. */
let reads: Map<string, Read[]>;

beforeAll(async () => {
  bench = await openBench(handlers);
  await explainSessions(bench.database);
  const other = createPool({ databaseUrl: bench.database.url, max: 1, applicationName: 'fill' });
  other.on('connect', (session) => void session.query(`set client_min_messages = 'error'`));
  await fillStore(other, FOREIGN);
  await other.end();
  reads = readsIn(bench.database.pool, bench.client.pool);
});
afterAll(() => bench.stop());

const submit = (handler: string, to: string, ...names: string[]): Promise<unknown> =>
  bench.client.submit(
    handler,
    names.map((name) => ({ id: `${handler}-${name}`, payload: { to, key: name.replace(/-.*/, '') } })),
  );
const rows = async <R extends object>(text: string): Promise<R[]> => (await bench.database.pool.query<R>(text)).rows;
/** One dispatch as its activity would run it: mark, call, settle each. */
const carry = async (answer: TurnAnswer, handler: Handler, leaderId: number): Promise<void> => {
  const deps = await bench.dispatch(answer, handler, leaderId);
  for (const one of await prepare(deps, await readDispatch(deps.pool, leaderId, deps.input.no))) {
    const { call, outcome } = await makeCall(deps, one);
    await settle(call, outcome);
  }
};

test(`every statement from the submit to the settlement reads a few rows, found through an index, beside ${FOREIGN} tasks of others [A2]`, async () => {
  for (const handler of handlers) {
    const { name } = handler;
    await submit(name, 'se', '1', '2-again', '1-bad', '3', '4');
    await submit(name, 'no', '5', '6', '7-bad');
    await bench.client.submit(name, {
      id: `${name}-late`,
      payload: { to: 'no', key: '8' },
      notBefore: Date.now() + 50,
    });
    const [{ id: leaderId }] = (await rows<{ id: number }>(
      `select l.id from leader l join handler h on h.id = l.handler_id where h.name = '${name}'`,
    )) as [{ id: number }];
    const targets = (await rows<{ id: number }>(`select id from target where leader_id = ${leaderId}`)).map(
      ({ id }) => id,
    );
    const open = async (): Promise<number> =>
      (
        await rows<{ n: number }>(`select count(*)::int as n from task_state where id like '${name}-%' and state < 4`)
      )[0]!.n;
    const run = { runId: name, runStartedAtMs: 1_000 };
    for (let turn = 1; (await open()) > 0; turn++) {
      expect(turn).toBeLessThan(500);
      const answer = await bench.turn(run, turn, { leaderId });
      if (answer.dispatch !== null) await carry(answer, handler, leaderId);
      await bench.client.ring(targets);
    }
    await submit(name, 'se', 'last');
    await bench.client.cancel(`${name}-last`);
    await bench.client.getTask(`${name}-1`);
  }
  // All steps of grouping were taken, also those of tasks that come back.
  expect([...reads.keys()]).toEqual(
    expect.arrayContaining([
      ...['lower-due', 'lock-due-targets', 'promote-delayed', 'read-queue-heads', 'read-keyed-queue-heads'],
      ...['insert-batches', 'mark-attempts', 'read-members', 'settle-succeeded', 'insert-outcomes', 'delay-members'],
      ...['cancel-tasks', 'read-tasks'],
    ]),
  );
  const many = [...reads].flatMap(([name, all]) =>
    all.filter(({ relation, rows }) => HELD.includes(relation) && rows > FEW).map((read) => ({ name, ...read })),
  );
  expect(many).toEqual([]);
  expect(await unsought()).toEqual([]);
});

/**
 * Returns the reads of an index that seek none of its first column: Postgres reads such an index
 * whole, and the rows that it passes over there are counted nowhere.
 */
const unsought = async (): Promise<string[]> => {
  const indexes = await rows<{ index: string; first: string; table: string }>(
    `select indexrelid::regclass::text as index, pg_get_indexdef(indexrelid, 1, true) as first,
       indrelid::regclass::text as "table"
     from pg_index`,
  );
  const found = [...reads].flatMap(([name, all]) =>
    all.flatMap(({ index, sought }) => {
      const of = indexes.find((one) => one.index === index);
      if (of === undefined || !HELD.includes(of.table)) return [];
      return new RegExp(`\\(\\(?(?:ROW\\()?(?:\\w+\\.)?${of.first}\\b`).test(sought)
        ? []
        : [`${name}: ${index} (${sought})`];
    }),
  );
  return [...new Set(found)].sort();
};

test('of a batch whose tasks were not tried before no member row is read', async () => {
  const [handler] = handlers as [Handler];
  await submit(handler.name, 'new', '11', '12', '13', '14');
  const [{ leaderId }] = (await rows<{ leaderId: number }>(
    `select leader_id as "leaderId" from target where key = 'new'`,
  )) as [{ leaderId: number }];
  reads.delete('read-members');
  await carry(await bench.turn({ runId: 'new', runStartedAtMs: 2_000 }, 1, { leaderId }), handler, leaderId);
  const read = reads.get('read-members')!.filter(({ rows }) => rows > 0);
  expect(read.map(({ relation }) => relation)).toEqual(['batch']);
});
