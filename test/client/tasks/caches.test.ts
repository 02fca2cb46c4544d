import { checkTask } from '../../../client/tasks/checkTasks';
import type { CheckedTask } from '../../../client/tasks/checkTasks';
import { TaskInserter } from '../../../client/tasks/taskInserter';
import type { Handler } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { Quotas } from '../../../workers/api/tenants/quotas';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';

/** The memory of a process does not grow with the names that callers invent. */

const base = {
  target: ({ to }: { to: string }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 60_000 },
  submit: async () => ({ results: [] }),
};
const loose = defineHandler<{ to: string }>({ ...base, name: 'loose' });
const ordered = defineHandler<{ to: string }>({
  ...base,
  name: 'ordered',
  service: (target) => target,
  lane: { approach: 'serial' },
});
const MOST = 5;
const CALLS = 20;
const PER_CALL = 3;

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const taskFor = (handler: Handler, id: string, to: string): CheckedTask =>
  checkTask(handler, { id, payload: { to } }, 0, [])!;

/** What an inserter keeps, which it tells nobody. */
interface Kept {
  targets: { known: { byHandler: Map<string, Map<string, number>> } };
  lanes: { lanes: Map<string, number>; bound: Map<number, number> };
}
const keptBy = (inserter: TaskInserter): Kept => inserter as unknown as Kept;

test.each([loose, ordered])('ids of targets and lanes are bounded: $name', async (handler) => {
  const inserter = new TaskInserter(database.pool, { most: MOST });
  const kept = keptBy(inserter);
  const most = MOST + PER_CALL;
  for (let call = 0; call < CALLS; call++) {
    const tasks = Array.from({ length: PER_CALL }, (_, i) =>
      taskFor(handler, `${handler.name}-${call}-${i}`, `to-${call}-${i}`),
    );
    const { accepted } = await inserter.store(handler, tasks, { partial: false });
    expect(accepted).toBe(PER_CALL);
    for (const map of [kept.targets.known.byHandler.get(handler.name)!, kept.lanes.lanes, kept.lanes.bound])
      expect(map.size).toBeLessThanOrEqual(most);
  }
  expect(kept.targets.known.byHandler.get(handler.name)!.size).toBeGreaterThan(0);
});

test('what was forgotten is read anew: a task goes to the target and lane of before', async () => {
  const inserter = new TaskInserter(database.pool, { most: MOST });
  for (const handler of [loose, ordered]) {
    const store = (id: string, to: string) => inserter.store(handler, [taskFor(handler, id, to)], { partial: false });
    const first = await store(`${handler.name}-first`, 'again');
    for (let n = 0; n <= 2 * MOST; n++) await store(`${handler.name}-between-${n}`, `between-${n}`);
    expect(keptBy(inserter).targets.known.byHandler.get(handler.name)!.has('again')).toBe(false);
    const second = await store(`${handler.name}-second`, 'again');
    expect([second.targetIds, second.laneIds]).toEqual([first.targetIds, first.laneIds]);
  }
});

test('counts of tenants are bounded', async () => {
  const tenants = 1_001;
  await database.pool.query(
    `insert into tenant (name, created_at) select 'tenant-' || n, clock() from generate_series(1, ${tenants}) n`,
  );
  const quotas = new Quotas(database.pool);
  const { usages } = quotas as unknown as { usages: Map<string, unknown> };
  let most = 0;
  for (let n = 1; n <= tenants; n++) {
    await quotas.tasks(`tenant-${n}`, 'loose')([]);
    most = Math.max(most, usages.size);
  }
  expect([most, usages.size]).toEqual([1_000, 1]);
});

test('of a tenant that is gone a caller is told so, and once it is back the next call is counted', async () => {
  const { pool } = database;
  const quotas = new Quotas(pool, () => 0); // no time passes
  await expect(quotas.items('gone', 1)).rejects.toMatchObject({ status: 404, message: 'No tenant gone.' });
  await pool.query(`insert into tenant (name, max_items, created_at) values ('gone', 1, clock())`);
  await quotas.items('gone', 1);
  await expect(quotas.items('gone', 1)).rejects.toMatchObject({ status: 429 });
});
