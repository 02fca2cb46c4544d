import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Needs } from '../../../workers/config/config';
import { loadSettings } from '../../../workers/config/config';
import { ceilingsByHandler } from '../../../workers/config/limitCeilings';
import { SettingsError } from '../../../workers/config/settingsError';
import { fileSchema, problemsOf } from '../../../workers/config/settingsSchema';
import { useConfigFolder } from '../configFolder';

/** What settings must say, and what is made of them, without a process. */

describe('a process', () => {
  const folder = useConfigFolder();
  /** Returns the paths of the problems, each with the first words of its message. */
  const problems = async (needs: Needs, env: Record<string, string> = {}): Promise<string[]> => {
    const { cwd } = folder;
    const given = { HOME: cwd, XDG_CONFIG_HOME: cwd, ...env };
    const error: unknown = await loadSettings({}, needs, { cwd, env: given }).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (error === null) return [];
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map(({ path: at, message }) => `${at}: ${message.split(' ').slice(0, 4).join(' ')}`);
  };
  const NO_CONFIG = 'config: expected a config file';
  const DATABASE = { MUSTER_DATABASE_URL: 'postgres://user@host/db' };

  test('that serves handlers is told to have a config file; one that serves none needs none', async () => {
    expect(await problems({})).toEqual([]);
    expect(await problems({ handlers: false, database: false })).toEqual([]);
    expect(await problems({ handlers: true })).toEqual([NO_CONFIG]);
    writeFileSync(path.join(folder.cwd, 'muster.config.json'), JSON.stringify({ handlers: [] }));
    expect((await problems({ handlers: true })).filter((one) => one.startsWith(NO_CONFIG))).toEqual([]);
  });

  test('that uses the store is told to name a database, together with all else that is missing', async () => {
    expect(await problems({ database: true })).toEqual([expect.stringMatching(/^databaseUrl: expected /)]);
    expect(await problems({ database: true }, DATABASE)).toEqual([]);
    expect(await problems({ database: true, handlers: true })).toEqual([
      expect.stringMatching(/^databaseUrl: expected /),
      NO_CONFIG,
    ]);
    expect(await problems({ database: true, handlers: true }, DATABASE)).toEqual([NO_CONFIG]);
  });
});

describe('of callbacks of downstreams', () => {
  const schema = fileSchema({ json: true, env: {}, folder: '/' });
  const of = (callback: object) => problemsOf(schema, { callback });

  test.each([
    ['maxBytes', [1_024, 268_435_456], [1_023, 268_435_457, 2_048.5], 'a whole number of bytes from 1024 to 268435456'],
    ['urlMs', [60_000, 31_536_000_000], [59_999, 31_536_000_001], 'a whole number from 60000 to 31536000000'],
    ['port', [0, 65_535], [-1, 65_536, 80.5], 'a port from 0 (a free one) to 65535'],
  ])('%s may be %j and not %j', (name, allowed, refused, expected) => {
    for (const value of allowed) expect(of({ [name]: value })).toEqual([]);
    for (const value of refused)
      expect(of({ [name]: value })).toEqual([
        { path: `callback.${name}`, message: `expected ${expected}, got ${value}` },
      ]);
  });
});

test('a node subscribes to at most 100 topics, each a text of 1-256 bytes', () => {
  const of = (topics: unknown) =>
    problemsOf(fileSchema({ json: true, env: {}, folder: '/' }), { executions: { topics } });
  const many = (n: number) => Array.from({ length: n }, (_, i) => `topic ${i}`);
  for (const topics of [[], many(100), ['é'.repeat(128)]]) expect(of(topics)).toEqual([]);
  for (const topics of ['mail', many(101), [''], ['é'.repeat(129)], ['a\0'], [7]])
    expect(of(topics)).toEqual([
      { path: 'executions.topics', message: expect.stringContaining('at most 100 topics, each a text of 1-256 bytes') },
    ]);
});

test('each ceiling of limits is taken as it is set, for each handler; what is left out has none', () => {
  const rate = { limit: 5, perMs: 1_000, unit: 'calls' as const };
  const none = {
    rate: [],
    'concurrency.perTarget': null,
    'concurrency.perHandler': null,
    'maxWeightInFlight.perTarget': null,
    'maxWeightInFlight.perHandler': null,
  };
  expect(ceilingsByHandler()).toEqual({});
  expect(
    ceilingsByHandler({
      '*': {},
      all: {
        rate: [rate, { ...rate, scope: 'target' }],
        concurrency: { perTarget: 1, perHandler: 2 },
        maxWeightInFlight: { perTarget: 3, perHandler: 4 },
      },
      one: { rate },
      unlimited: { rate: null, concurrency: { perTarget: null }, maxWeightInFlight: { perHandler: null } },
    }),
  ).toEqual({
    '*': none,
    all: {
      rate: [
        { ...rate, scope: 'handler' },
        { ...rate, scope: 'target' },
      ],
      'concurrency.perTarget': 1,
      'concurrency.perHandler': 2,
      'maxWeightInFlight.perTarget': 3,
      'maxWeightInFlight.perHandler': 4,
    },
    one: { ...none, rate: [{ ...rate, scope: 'handler' }] },
    unlimited: none,
  });
});
