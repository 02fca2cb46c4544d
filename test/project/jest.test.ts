import { readFileSync } from 'node:fs';
import type Module from 'node:module';
import pg from 'pg';
import { eventually } from '../helpers/eventually';

/** What test/helpers/jest promises: packages are shared between test files, and nothing else is. */

const caught = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};
/** Node's own: what a test file imports of node:module is jest's. */
const nativeRequire = (process.mainModule!.constructor as typeof Module).createRequire(__filename);
const Environment = nativeRequire('../helpers/jest/environment') as new (
  config: object,
  context: { testPath: string },
) => { teardown(): Promise<void> };

test('an error of Node, of a package and of a test is of one class', () => {
  expect(caught(() => readFileSync('/does/not/exist'))).toBeInstanceOf(Error);
  expect(new pg.DatabaseError('x', 1, 'error')).toBeInstanceOf(Error);
  expect(new TextEncoder().encode('x')).toBeInstanceOf(Uint8Array);
});

test('packages are those of Node’s own cache; one that loads a module of this repository gets the file’s copy', () => {
  expect((nativeRequire('pg') as { Client: unknown }).Client).toBe(pg.Client);
  const loaded = nativeRequire('../helpers/eventually.ts') as { eventually: unknown };
  expect(loaded.eventually).toBe(eventually); // as a package gets it that loads a module by path
});

test('what a file sets is put back after it', async () => {
  delete process.env['MUSTER_TEST_TIMES_FILE']; // not timed
  const environment = new Environment({}, { testPath: __filename });
  const { stackTraceLimit } = Error;
  const { now } = Date;
  const changed = globalThis as Record<string, unknown>;
  const atob = changed['atob'];
  changed['left'] = 1;
  changed['atob'] = null;
  process.env['LEFT'] = '1';
  delete process.env['PATH'];
  process.exitCode = 7;
  process.chdir('/');
  Error.stackTraceLimit = 1;

  await environment.teardown();

  expect(changed['left']).toBeUndefined();
  expect(changed['atob']).toBe(atob);
  expect(process.env['LEFT']).toBeUndefined();
  expect(process.env['PATH']).toBeDefined();
  expect(process.exitCode).not.toBe(7);
  expect(process.cwd()).not.toBe('/');
  expect(nativeRequire.cache).not.toHaveProperty([nativeRequire.resolve('../helpers/eventually.ts')]);
  expect(Error.stackTraceLimit).toBe(stackTraceLimit);
  expect(Date.now).toBe(now);
});
