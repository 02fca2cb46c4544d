import { workOffEnded } from '../../../activities/grouping/dependents';
import type { InvalidTaskError } from '../../../client';
import { settleSucceeded } from '../../../postgres/calls/settle';
import { TASK_DEPENDENCIES_MAX } from '../../../workflows/planning/grouping/dependencies';
import { TASK_STATES } from '../../../workflows/planning/states';
import { cut, endAlone, placesOf } from '../../client/shop';
import { eventually } from '../../helpers/eventually';
import { expectWhole } from '../../helpers/whole';
import type { SqlShop } from './shop';
import { openSqlShop, refusal } from './shop';

/** Tasks that are submitted by SQL and depend on others: as the client stores and refuses them. */

let shop: SqlShop;
beforeAll(async () => {
  shop = await openSqlShop();
});
afterAll(() => shop.stop());

interface Extras {
  dependsOn?: unknown;
  onDependencyFailure?: unknown;
}
const payload = { customer: 'ada', total: 1 };
const SUBMIT = `select submit('orders', $1, $2, 'ada', depends_on => $3, on_dependency_failure => $4) as new`;
const bySql = (id: string, { dependsOn = null, onDependencyFailure = null }: Extras = {}) =>
  shop.sql(SUBMIT, [id, payload, dependsOn, onDependencyFailure]);
const byClient = (id: string, extras: Extras) => shop.client.submit('orders', { id, payload, ...(extras as object) });
const rowsOf = (id: string) =>
  shop.sql(
    `select d.needs_id, d.place, d.run, d.state, n.id as needs, h.target_id = k.target_id as same, h.not_before
     from task k join held h using (seq) left join task_dependency d using (seq) left join task n on n.seq = d.needs
     where k.id = $1 order by d.place`,
    [id],
  );
const places = (id: string) => placesOf(shop.database.pool, id);
const succeed = async (...ids: string[]): Promise<void> => {
  const id = await cut(shop.database.pool, ids);
  await settleSucceeded(shop.database.pool, [{ id, attempt: 0, counts: true }], [], []);
};
const workedOff = (): Promise<unknown> =>
  eventually(async () => {
    await workOffEnded(shop.database.pool);
    return (await shop.sql('select from ended_dependency')).length === 0;
  });
const waitsForLock = async (): Promise<boolean> =>
  (await shop.sql(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`))
    .length > 0;
const many = (n: number): string[] => Array.from({ length: n }, (_, i) => `many-${i}`);

beforeAll(async () => {
  for (const id of ['one', 'two', ...many(TASK_DEPENDENCIES_MAX + 1)]) await bySql(id);
});

test.each<[string, Extras]>([
  ['one', { dependsOn: ['one'] }],
  ['several, in their order', { dependsOn: ['two', 'many-3', 'one'] }],
  ['as many as there may be', { dependsOn: many(TASK_DEPENDENCIES_MAX) }],
  ['none', { dependsOn: [] }],
  ['that runs anyway', { dependsOn: ['one'], onDependencyFailure: 'run' }],
  ['that fails with it', { dependsOn: ['one'], onDependencyFailure: 'fail' }],
])('%s: stored as the client stores it', async (name, extras) => {
  expect(await bySql(`sql ${name}`, extras)).toEqual([{ new: true }]);
  await byClient(`client ${name}`, extras);
  const stored = await rowsOf(`sql ${name}`);
  expect(stored).toEqual(await rowsOf(`client ${name}`));
  expect(stored).toHaveLength((extras.dependsOn as string[]).length);
  expect(await places(`sql ${name}`)).toEqual(await places(`client ${name}`));
});

test.each<[string, string, Extras]>([
  ['one too many', '22023', { dependsOn: many(TASK_DEPENDENCIES_MAX + 1) }],
  ['an empty id', '22023', { dependsOn: ['one', ''] }],
  ['no id', '22023', { dependsOn: ['one', null] }],
  ['itself', '22023', { dependsOn: ['one', 'refused'] }],
  ['one twice', '22023', { dependsOn: ['two', 'one', 'two'] }],
  ['the first fault of several', '22023', { dependsOn: ['one', 'refused', '', 'one'] }],
  ['another policy', '22023', { onDependencyFailure: 'skip' }],
  ['one that does not exist', '23503', { dependsOn: ['one', 'not there', 'nor there'] }],
])('%s: refused, in the words of the client', async (_, code, extras) => {
  const refused = await refusal(bySql('refused', extras));
  const theirs: unknown = await byClient('refused', extras).catch((error: unknown) => error);
  const [problem] = (theirs as InvalidTaskError).problems;
  const field = problem!.field
    .replace('dependsOn', 'depends_on')
    .replace('onDependencyFailure', 'on_dependency_failure');
  // Of one call, there; one task is a call here.
  const message = problem!.message.replace(' or of this call', '');
  expect(refused).toEqual({
    ...{ code, detail: problem!.code, message: `Cannot submit the task: ${field}: ${message}.` },
    hint: expect.stringMatching(/^[A-Z].*\.$/),
  });
  expect(problem!.code).toBe('INVALID_DEPENDENCY');
  expect(await places('refused')).toEqual([]);
});

test('no cycle can be stored: of two tasks that want each other, the first is refused', async () => {
  const both = `select submit('orders', 'hen', $1, 'ada', depends_on => '{egg}'),
    submit('orders', 'egg', $1, 'ada', depends_on => '{hen}')`;
  expect(await refusal(shop.sql(both, [payload]))).toMatchObject({ code: '23503', detail: 'INVALID_DEPENDENCY' });
  expect([...(await places('hen')), ...(await places('egg'))]).toEqual([]);
});

test('it is held until they have succeeded; a repeat changes nothing', async () => {
  await bySql('first');
  await shop.sql(
    `select submit('orders', 'second', $1, 'ada', depends_on => '{first}', not_before => '2099-01-01Z'),
     submit('orders', 'third', $1, 'ada', depends_on => '{second,first}')`,
    [payload],
  );
  expect(await bySql('third', { dependsOn: ['one'] })).toEqual([{ new: false }]);
  expect(await bySql('third', { dependsOn: ['never was'] })).toEqual([{ new: false }]);
  expect(await shop.client.getTask('third')).toMatchObject({ state: 'created', waitsFor: ['second', 'first'] });
  await succeed('first');
  await workedOff();
  expect([await places('second'), await places('third')]).toEqual([['delayed'], ['held']]);
});

test('a dependency that fails fails it, unless it runs anyway', async () => {
  await bySql('bad');
  await bySql('fails', { dependsOn: ['bad'] });
  await bySql('runs', { dependsOn: ['bad'], onDependencyFailure: 'run' });
  await shop.client.cancel('bad');
  await workedOff();
  expect(await shop.client.getTask('fails')).toMatchObject({
    state: 'failed',
    error: 'dependency "bad" was cancelled',
  });
  expect(await places('runs')).toEqual(['queue']);
});

test('what has ended before counts at once', async () => {
  await bySql('done');
  await succeed('done');
  await bySql('after the end', { dependsOn: ['done', 'one'] });
  expect(await places('after the end')).toEqual(['held']);
  await bySql('all ended', { dependsOn: ['done'] });
  await workedOff();
  expect([await places('after the end'), await places('all ended')]).toEqual([['held'], ['queue']]);
});

test('one that is redriven while the call waits for others is locked as they are', async () => {
  await bySql('open');
  for (const id of ['again', 'beside']) await shop.sql(`select submit('orders', $2, $1, 'bob')`, [payload, id]);
  await cut(shop.database.pool, ['again', 'beside'], { state: 4 });
  await endAlone(shop.database.pool, 'again', TASK_STATES.failed, 'no');
  const [blocker, caller] = [await shop.database.pool.connect(), await shop.database.pool.connect()];
  await blocker.query('begin');
  await blocker.query(`select from target where key = 'ada' for no key update`);
  await caller.query('begin');
  const submitted = caller.query(SUBMIT, ['waits for both', payload, ['open', 'again'], null]);
  await eventually(waitsForLock);
  await shop.client.redrive('orders', { only: 'failed', ids: ['again'] });
  expect(await places('again')).toEqual(['queue']);
  await blocker.query('commit');
  await submitted;
  const claim = shop.sql(`select from target where key = 'bob' for no key update nowait`);
  expect(await refusal(claim)).toMatchObject({ code: '55P03' });
  await caller.query('rollback');
  for (const session of [blocker, caller]) session.release();
});

test('an end that comes while the caller has not committed waits for it, and finds the task', async () => {
  await bySql('in flight');
  const batch = await cut(shop.database.pool, ['in flight']);
  const caller = await shop.database.pool.connect();
  await caller.query('begin');
  await caller.query(SUBMIT, ['waits', payload, ['in flight'], null]);
  const settled = settleSucceeded(shop.database.pool, [{ id: batch, attempt: 0, counts: true }], [], []);
  await eventually(waitsForLock);
  await caller.query('commit');
  caller.release();
  expect([...(await settled).values()]).toEqual([true]);
  await workedOff();
  expect(await places('waits')).toEqual(['queue']);
});

describe.each(['by SQL', 'by the client'])('%s', (door) => {
  test.each(['cancelled', 'taken into a batch', 'ended'])(
    'in repeatable read, one that was %s unseen is a serialization failure',
    async (how) => {
      const id = `moved, ${how}, ${door}`;
      await bySql(id);
      const batch = how === 'ended' ? await cut(shop.database.pool, [id]) : null;
      const caller = await shop.database.pool.connect();
      const submit = (): Promise<unknown> => {
        const after = `after ${id}`;
        return door === 'by SQL'
          ? caller.query(SUBMIT, [after, payload, [id], null])
          : shop.client.submit('orders', { id: after, payload, dependsOn: [id] }, { tx: caller });
      };
      try {
        await caller.query('begin isolation level repeatable read');
        await caller.query('select from task');
        if (how === 'cancelled') await shop.client.cancel(id);
        else if (batch === null) await cut(shop.database.pool, [id]);
        else await settleSucceeded(shop.database.pool, [{ id: batch, attempt: 0, counts: true }], [], []);
        expect(await refusal(submit())).toMatchObject({ code: '40001' });
      } finally {
        await caller.query('rollback');
        caller.release();
      }
    },
  );
});

test('ends beside submits, at random: every dependent goes on', async () => {
  for (let round = 0; round < 15; round++) {
    const needed = `random-${round}`;
    await bySql(needed);
    const id = await cut(shop.database.pool, [needed]);
    const dependents = [0, 1, 2].map((i) => `${needed}-${i}`);
    await Promise.all([
      settleSucceeded(shop.database.pool, [{ id, attempt: 0, counts: true }], [], []),
      ...dependents.map((one) => bySql(one, { dependsOn: [needed] })),
    ]);
    await workedOff();
    for (const one of dependents) expect(await places(one)).toEqual(['queue']);
  }
});

test('nothing in the store is against its rules', () => expectWhole(shop.client));
