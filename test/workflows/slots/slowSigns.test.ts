import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';

/** A dispatch of a leader, while the store takes longer for its sign of life than it waits. */

let letGo: () => void = () => undefined;
const gone = new Promise<void>((resolve) => (letGo = resolve));
let inFlight = 0;
const slow = defineHandler<{ to: string }>({
  name: 'slow',
  target: ({ to }) => to,
  limits: { maxItems: 10 },
  linger: { lingerMs: 0 },
  submit: async (batch) => {
    inFlight++;
    await gone;
    return { results: batch.tasks.map((_, index) => ({ index, status: 'ok' as const })) };
  },
});

let muster: TestMuster;
beforeAll(async () => {
  muster = await startMuster([slow]);
});
afterAll(async () => {
  await muster.stop();
});

test('a dispatch ends where a sign of life takes longer than the time between two', async () => {
  const { client, database } = muster;
  await client.submit('slow', { id: 'a', payload: { to: 'a' } });
  await eventually(() => Promise.resolve(inFlight === 1));
  await database.pool.query(`
create function on_sign() returns trigger language plpgsql as $$ begin perform pg_sleep(1.5); return new; end $$;
create trigger on_sign before update of seen_at on dispatch for each row execute function on_sign()`);
  const signs = `select from pg_stat_activity where state = 'active' and datname = current_database() and query ~ 'update dispatch'
    and pid <> pg_backend_pid()`;
  await eventually(async () => (await database.pool.query(signs)).rowCount === 1, { what: 'a slow sign under way' });
  letGo();
  const left = async (): Promise<number | null> => (await database.pool.query('select from dispatch')).rowCount;
  await eventually(async () => (await left()) === 0, { timeoutMs: 20_000, what: 'the end of the dispatch' });
});
