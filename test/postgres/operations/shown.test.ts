import { concludeAudit, insertAudit, readAudit } from '../../../postgres/operations/audit';
import { readPooler } from '../../../postgres/operations/pooler';
import { readSchemaObjects } from '../../../postgres/operations/schemaObjects';
import { Rows } from '../rows/rows';

/** What operators are shown of changes, of the tables, and of what is before the server. */

let rows: Rows;
beforeAll(async () => {
  rows = await Rows.open();
});
afterAll(() => rows.close());

type Filter = Partial<Parameters<typeof readAudit>[1]>;

describe('the audit', () => {
  const ids: number[] = [];
  beforeAll(async () => {
    for (const [who, subject] of [
      ['ann', 'handler a'],
      ['ben', 'handler a'],
      ['ann', 'handler b'],
      ['ann', 'handler a'],
      ['ben', 'handler b'],
    ] as const)
      ids.push(await insertAudit(rows.pool, { who, subject, door: 'cli', origin: null, verb: 'pause', detail: '{}' }));
    await concludeAudit(rows.pool, ids[1]!, { outcome: 'done', answer: '{"paused":true}' });
  });

  const ALL = { before: null, limit: 100, who: null, subject: null };
  test.each([
    ['all', {}, [4, 3, 2, 1, 0]],
    ['those of a caller', { who: 'ann' }, [3, 2, 0]],
    ['those about a subject', { subject: 'handler a' }, [3, 1, 0]],
    ['those of a caller about a subject', { who: 'ben', subject: 'handler a' }, [1]],
    ['those of a caller who made none', { who: 'eve' }, []],
    ['a page', { limit: 2 }, [4, 3]],
    ['a page of a caller', { who: 'ann', limit: 1 }, [3]],
  ] as [string, Filter, number[]][])('shows %s, the newest first', async (_, filter, places) => {
    const shown = await readAudit(rows.pool, { ...ALL, ...filter });
    expect(shown.map(({ id }) => id)).toEqual(places.map((place) => ids[place]!));
  });

  test('goes on before the last entry of a page', async () => {
    const shown = await readAudit(rows.pool, { ...ALL, before: ids[3]!, who: 'ann' });
    expect(shown.map(({ id }) => id)).toEqual([ids[2]!, ids[0]!]);
  });

  test('says how a change ended, once that is known', async () => {
    const [, , , done, first] = await readAudit(rows.pool, ALL);
    expect(done).toMatchObject({ id: ids[1]!, who: 'ben', outcome: 'done', answer: { paused: true } });
    expect(first).toMatchObject({ id: ids[0]!, who: 'ann', outcome: null, answer: null });
  });
});

test('between this program and the server itself there is no pooler', async () => {
  expect(await readPooler(rows.pool)).toEqual({ isBetween: false, isShared: false });
});

test('each object of the schema is shown with what matters of it', async () => {
  const objects = await readSchemaObjects(rows.pool);
  const names = objects.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const definitionOf = new Map(objects.map(({ name, definition }) => [name, definition]));
  const shown = (...of: string[]) => of.map((name) => definitionOf.get(name));
  expect(shown('column batch.id', 'column batch.error', 'column batch.members', 'column task_state.id')).toEqual([
    'bigint not null',
    'text',
    'bigint[] not null',
    'text',
  ]);
  expect(shown('index queue_pkey', 'index batch_target', 'index batch_poll', 'index lane_batch_open')).toEqual([
    'unique queue (target_id, priority, seq)',
    'batch (target_id, id)',
    'batch (poll_at) partial',
    'unique lane_batch (lane_id, seq) partial',
  ]);
  expect(shown('constraint queue_pkey of queue', 'constraint lane_handler_id_fkey of lane')).toEqual(['p', 'f']);
  expect(shown('trigger keep_audit of audit', 'trigger keep_leader of target')).toEqual(['enabled', 'enabled']);
  expect(shown('function clock()', 'function lock_tasks(text[])')).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    expect.stringMatching(/^[0-9a-f]{32}$/),
  ]);
});

test('of an object that was changed by hand the definition is another one', async () => {
  const own = await Rows.open();
  try {
    const before = await readSchemaObjects(own.pool);
    await own.query('alter table audit disable trigger keep_audit');
    await own.query('drop index batch_target');
    await own.query('create index batch_target on batch (id, target_id)');
    await own.query('alter table batch alter column error set not null');
    const after = await readSchemaObjects(own.pool);
    const changed = after.filter((one, i) => one.definition !== before[i]!.definition);
    expect(changed).toEqual([
      { name: 'column batch.error', definition: 'text not null' },
      { name: 'index batch_target', definition: 'batch (id, target_id)' },
      { name: 'trigger keep_audit of audit', definition: 'disabled' },
    ]);
  } finally {
    await own.close();
  }
});
