import pg from 'pg';
import { migrate } from '../../postgres/migrating/migrate';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';
import { eventually } from '../helpers/eventually';

/**
 * A process that migrates while the session of another holds the lock: that process may be gone.
 *
 * @slow
 */

let database: TestDatabase;
let holder: pg.Client;
beforeAll(async () => {
  database = await createDatabase();
  holder = new pg.Client({ connectionString: database.url });
  await holder.connect();
});
afterAll(async () => {
  await holder.end();
  await database.drop();
});

test('who waits says for which session, and goes on when that has ended', async () => {
  await holder.query("select pg_advisory_lock(hashtext('muster migrate muster'))");
  const { rows } = await holder.query<{ pid: number }>('select pg_backend_pid() as pid');
  const lines: string[] = [];
  let isDone = false;
  const migrating = migrate(database.url, 'muster', (line) => void lines.push(line)).finally(() => (isDone = true));
  await eventually(() => lines.length > 0, { timeoutMs: 15_000, what: 'a line of the one that waits' });
  expect(lines[0]).toMatch(new RegExp(`^Another process migrates; waiting for it \\(session ${rows[0]!.pid} of the`));
  expect(isDone).toBe(false);
  await holder.query("select pg_advisory_unlock(hashtext('muster migrate muster'))");
  expect(await migrating).toEqual([]);
});
