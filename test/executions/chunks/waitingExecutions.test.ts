import { randomUUID } from 'node:crypto';
import pino from 'pino';
import { wakeWaitingExecutions, ExecutionSweep } from '../../../workers/sweeper/executions';
import type { Requests } from '../../../workflows/temporal/requests';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** Executions that wait for a node, when one comes: many, and while Temporal fails. @slow */

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

/** Open executions that look again in an hour; returns their ids, those first that wait longest. */
const waiting = async (count: number, wantsNodes = true): Promise<string[]> => {
  const ids = Array.from({ length: count }, () => randomUUID());
  await database.pool.query(
    `
insert into execution (id, function_id, method, config, state, items, n_created, wants_nodes, resume_at, created_at)
select u.id, 'f', 'run', '{}', 1, 1, 1, $2, clock() + interval '1 h' + u.i * interval '1 ms', clock()
from unnest($1::uuid[]) with ordinality u (id, i)`,
    [ids, wantsNodes],
  );
  return ids;
};

/** Temporal, as far as a wake needs it. */
class Wakes {
  sent = 0;
  fails = false;
  readonly requests = {
    send: async () => {
      if (this.fails) throw new Error('the server does not answer');
      this.sent++;
    },
  } as unknown as Requests;
}
const depsOf = ({ requests }: Wakes) => ({
  pool: database.pool,
  requests,
  prefix: 'p',
  log: pino({ level: 'silent' }),
});

test('more than are woken at once when a node comes: the sweeper wakes the others, the oldest first', async () => {
  const ids = await waiting(1_500);
  const [other] = await waiting(1, false);
  const wakes = new Wakes();
  await wakeWaitingExecutions(depsOf(wakes));
  expect(wakes.sent).toBe(1_000);
  const sweep = new ExecutionSweep(depsOf(wakes));
  const woken: string[] = [];
  await eventually(async () => woken.push(...(await sweep.round()).woken) >= ids.length, { timeoutMs: 60_000 });
  expect([...woken].sort()).toEqual([...ids].sort());
  expect(woken).not.toContain(other);
  const places = new Map(ids.map((id, place) => [id, place]));
  expect(woken.slice(0, 10).every((id) => places.get(id)! < 1_000)).toBe(true);
});

test('while Temporal fails as a node comes: the sweeper wakes what waited for the node', async () => {
  const ids = await waiting(3);
  const wakes = new Wakes();
  wakes.fails = true;
  await wakeWaitingExecutions(depsOf(wakes));
  wakes.fails = false;
  const sweep = new ExecutionSweep(depsOf(wakes));
  const woken: string[] = [];
  await eventually(async () => woken.push(...(await sweep.round()).woken) >= ids.length);
  expect(woken.sort()).toEqual(ids.sort());
  expect(wakes.sent).toBe(3);
});

test('what is looked at sooner anyway is not put off by a node that comes', async () => {
  const [id] = await waiting(1);
  await database.pool.query(`update execution set resume_at = clock() - interval '1 min'`);
  const wakes = new Wakes();
  await wakeWaitingExecutions(depsOf(wakes));
  expect((await new ExecutionSweep(depsOf(wakes)).round()).woken).toEqual([id]);
});
