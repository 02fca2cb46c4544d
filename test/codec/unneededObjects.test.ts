import { sealerOf } from '../../handlers/codec/sealer';
import * as unneeded from '../../postgres/unneededObject';
import { UnneededObjects } from '../../workers/sweeper/unneededObjects';
import type { TestDatabase } from '../helpers/database';
import { createDatabase } from '../helpers/database';

/** What the sweeper does about objects of the object store that cannot be deleted. */

let database: TestDatabase;
beforeEach(async () => {
  database = await createDatabase();
});
afterEach(() => database.drop());

/** A sweeper's deletion, of a store that refuses some keys. */
const openDeletion = (refuses: (key: string) => boolean) => {
  const clock = { ms: 0 };
  const counts = { deletedObjects: 0 };
  const [warned, informed]: string[][] = [[], []];
  const tried: string[] = [];
  const store = {
    put: () => Promise.resolve(),
    get: () => Promise.resolve(null),
    delete: (key: string): Promise<void> => {
      tried.push(key);
      return refuses(key) ? Promise.reject(new Error(`${key} is locked`)) : Promise.resolve();
    },
  };
  const log = {
    warn: (_: object, message: string) => warned!.push(message),
    info: (message: string) => informed!.push(message),
  };
  const round = async (): Promise<void> => {
    const sealer = sealerOf({ objectStore: { store, overBytes: 1_024 } });
    objects ??= new UnneededObjects({ pool: database.pool, sealer, log: log as never }, () => clock.ms);
    objects.begin(counts);
    await objects['running'];
  };
  let objects: UnneededObjects | undefined;
  return { clock, counts, warned: warned!, informed: informed!, tried, round };
};
const note = (prefix: string, n: number): Promise<void> =>
  unneeded.noteObjects(
    database.pool,
    Array.from({ length: n }, (_, i) => `${prefix}-${i}`),
    -1_000,
  );
const left = async (): Promise<{ key: string; tries: number; error: string | null }[]> =>
  (await database.pool.query('select key, tries, error from unneeded_object order by key')).rows;

test('a few that cannot be deleted hold up no others: each has its own tries', async () => {
  const deletion = openDeletion((key) => key.startsWith('bad'));
  await note('bad', 2);
  await note('good', 250);
  await deletion.round();
  expect(deletion.counts).toEqual({ deletedObjects: 250 });
  const bad = { tries: 1, error: expect.stringMatching(/^bad-\d is locked$/) };
  expect(await left()).toEqual([
    { key: 'bad-0', ...bad },
    { key: 'bad-1', ...bad },
  ]);
  await note('more', 1);
  await deletion.round();
  expect(deletion.counts).toEqual({ deletedObjects: 251 });
  expect(deletion.tried.filter((key) => key.startsWith('bad'))).toHaveLength(2);
  expect(deletion.warned).toHaveLength(1);
  // Alone they hold up nothing either, and are told of once.
  await database.pool.query('update unneeded_object set due_at = clock()');
  await deletion.round();
  await note('last', 1);
  await deletion.round();
  expect([deletion.counts, deletion.warned.length]).toEqual([{ deletedObjects: 252 }, 1]);
});

test('a store that deletes none of a hundred is left alone for a while, and told of when it does again', async () => {
  let away = true;
  const deletion = openDeletion(() => away);
  await note('any', 250);
  await deletion.round();
  await deletion.round();
  expect([deletion.tried.length, deletion.warned.length]).toEqual([100, 1]);
  deletion.clock.ms += 2_000;
  away = false;
  await deletion.round();
  expect(deletion.counts).toEqual({ deletedObjects: 150 });
  expect(deletion.informed).toEqual(['sweeper: the object store deletes again']);
});

test('that the store is away is told of, also soon after a single object was', async () => {
  let away = false;
  const deletion = openDeletion((key) => away || key === 'bad-0');
  await note('bad', 1);
  await deletion.round();
  away = true;
  await note('any', 150);
  await deletion.round();
  expect(deletion.warned).toHaveLength(2);
  deletion.clock.ms += 2_000;
  await deletion.round();
  expect(deletion.warned).toHaveLength(2);
});
