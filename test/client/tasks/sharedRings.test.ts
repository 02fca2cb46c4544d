import type { Client } from '../../../client';
import { createClient } from '../../../client';
import { defineHandler } from '../../../handlers';
import { Coalescer } from '../../../postgres/sharing/coalescer';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase, temporalAddress } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

/** Rings of submits that come at the same time are few, and none is forgotten. */

describe('runs that rest', () => {
  const open = (restMs: number) => {
    const begun: { items: string[]; atMs: number }[] = [];
    const ends: (() => void)[] = [];
    const coalescer = new Coalescer<string>(
      (items) => {
        begun.push({ items: [...items], atMs: performance.now() });
        return new Promise((resolve) => ends.push(resolve));
      },
      () => restMs,
    );
    return { begun, ends, coalescer };
  };

  test('the first begins at once; those that come meanwhile share the next, which begins after a rest', async () => {
    const { begun, ends, coalescer } = open(100);
    const first = coalescer.addLater(['a']);
    await eventually(() => begun.length === 1);
    const later = [coalescer.addLater(['b']), coalescer.addLater(['c'])];
    ends[0]!();
    await first;
    const endedAt = performance.now();
    expect(coalescer.isBusy).toBe(true);
    await eventually(() => begun.length === 2);
    expect(begun[1]!.items).toEqual(['b', 'c']);
    expect(begun[1]!.atMs - endedAt).toBeGreaterThan(90);
    ends[1]!();
    await Promise.all(later);
    expect(coalescer.isBusy).toBe(false);
  });

  test.each(['during the run', 'during the rest'])('an urgent request ends the rest: asked %s', async (when) => {
    const { begun, ends, coalescer } = open(3_600_000);
    const first = coalescer.add(['a']);
    await eventually(() => begun.length === 1);
    void coalescer.addLater(['b']);
    if (when === 'during the run') void coalescer.add(['c']);
    ends[0]!();
    await first;
    if (when === 'during the rest') {
      await new Promise(setImmediate);
      void coalescer.add(['c']);
    }
    await eventually(() => begun.length === 2);
    expect(begun[1]!.items).toEqual(['b', 'c']);
    ends[1]!();
    await coalescer.idle();
  });
});

describe('in a store', () => {
  const handler = defineHandler<{ to: string }>({
    name: 'orders',
    target: ({ to }) => to,
    limits: { maxItems: 100_000 },
    linger: { lingerMs: 3_600_000 },
    submit: () => Promise.resolve({ results: [] }),
  });
  let database: TestDatabase;
  let client: Client;
  beforeAll(async () => {
    database = await createDatabase();
    // Each ring is one statement on the leaders, also one that finds none to wake.
    await database.pool.query(`
      create table rung (at timestamptz default clock_timestamp());
      create function ring_slowly() returns trigger language plpgsql as $$
        begin insert into muster.rung default values; perform pg_sleep(0.02); return null; end$$;
      create trigger ring_slowly after update on leader for each statement execute function ring_slowly()`);
  });
  const open = (): void => {
    client = createClient({ databaseUrl: database.url, handlers: [handler], temporal: { address: temporalAddress() } });
  };
  beforeEach(open);
  afterAll(() => database.drop());

  const rings = async (): Promise<number[]> =>
    (
      await database.pool.query<{ ms: number }>(
        'select extract(epoch from at)::float8 * 1000 as ms from rung order by at',
      )
    ).rows.map(({ ms }) => ms);
  const one = (id: string, to = 'a') => client.submit('orders', { id, payload: { to } });
  const withoutDue = async (): Promise<string[]> =>
    (await database.pool.query<{ key: string }>('select key from target where due_at is null')).rows.map(
      ({ key }) => key,
    );

  test('a submit that is alone has rung when it resolves', async () => {
    await one('wakes-its-leader');
    await client.close();
    open(); // one that has no trouble with wakes, since none is left to send
    const before = (await rings()).length;
    for (let i = 1; i <= 20; i++) {
      await one(`alone-${i}`);
      expect((await rings()).length - before).toBe(i);
    }
    await client.close();
  });

  test('rings of 40 callers leave half of the time to others, and in the end all have rung', async () => {
    const before = (await rings()).length;
    const until = performance.now() + 1_000;
    const caller = async (name: number): Promise<void> => {
      for (let i = 0; performance.now() < until; i++) await one(`stream-${name}-${i}`, `stream-${name}`);
    };
    await Promise.all(Array.from({ length: 40 }, (_, name) => caller(name)));
    await client.close();
    const at = (await rings()).slice(before);
    const gaps = at.slice(1).map((ms, i) => ms - at[i]!);
    expect(gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)]).toBeGreaterThan(38);
    expect(await withoutDue()).toEqual([]);
  });

  test('a ring that is held up holds up only whoever caused it', async () => {
    await one('slow-1');
    const other = await database.pool.connect();
    try {
      await other.query('begin');
      await other.query('lock table leader in exclusive mode');
      let isThere = false;
      const slow = one('slow-2').then(() => (isThere = true));
      await eventually(async () => {
        const { rows } = await database.pool.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rows.length > 0;
      });
      await Promise.all([one('quick-1'), one('quick-2'), one('quick-3')]);
      expect(isThere).toBe(false);
      await other.query('rollback');
      await slow;
    } finally {
      other.release(true);
    }
    await client.close();
  });

  test('a client that is closed at once has rung all that it accepted', async () => {
    const ids = Array.from({ length: 64 }, (_, i) => `closed-${i}`);
    await Promise.all(ids.map((id) => one(id, id)));
    await client.close();
    expect(await withoutDue()).toEqual([]);
  });
});
