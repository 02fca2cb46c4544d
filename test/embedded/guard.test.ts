import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../helpers/eventually';
import { compiledEmbedded, isRunning, removeTemporary, runParent, temporaryDirectory, type Parent } from './helpers';

/** @full */

let embedded = '';
beforeAll(() => {
  embedded = compiledEmbedded();
});
afterAll(removeTemporary);

/** A parent of the real servers. */
const BOTH_SERVERS = `
  const { startPostgres, startTemporalDev } = require(embedded + '/index.js');
  const [postgres, temporal] = await Promise.all([startPostgres(), startTemporalDev()]);
  report({ pids: [postgres.pid, temporal.pid], directory: postgres.dataDir });
  setInterval(() => {}, 1000);`;

/**
 * A parent of a server that answers to no signal but SIGKILL, in a guard with a directory to
 * remove.
 */
const stubbornServer = (directory: string, then: string) => `
  const { Guard } = require(embedded + '/guard.js');
  const guard = new Guard([${JSON.stringify(directory)}]);
  const program = "process.on('SIGTERM', () => console.log('no')); process.on('SIGINT', () => {}); setInterval(() => {}, 1000); console.log('up')";
  const server = await guard.run({ file: process.execPath, args: ['-e', program], stopSignal: 'SIGTERM', graceMs: 300 });
  while (!server.recentLines().includes('up')) await new Promise((resolve) => setTimeout(resolve, 10));
  guard.release();
  report({ pids: [server.pid, guard.guardian.pid], directory: ${JSON.stringify(directory)} });
  ${then}`;

function nothingLeft({ report }: Parent): boolean {
  return !(report.pids as number[]).some(isRunning) && !existsSync(String(report.directory));
}

async function directoryToRemove(): Promise<string> {
  const directory = join(temporaryDirectory(), 'remove');
  mkdirSync(directory);
  return directory;
}

describe('no server and no temporary directory stays behind', () => {
  test('when the parent is killed (SIGKILL)', async () => {
    const parent = await runParent(embedded, BOTH_SERVERS);
    expect((parent.report.pids as number[]).map(isRunning)).toEqual([true, true]);
    parent.process.kill('SIGKILL');
    await eventually(() => nothingLeft(parent), { what: 'both servers are gone' });
  });

  test('at Ctrl-C, which reaches the whole process group of the parent', async () => {
    const parent = await runParent(embedded, BOTH_SERVERS);
    process.kill(-(parent.process.pid as number), 'SIGINT');
    await eventually(() => nothingLeft(parent), { what: 'both servers are gone' });
  });

  test.each([
    ['when the parent exits', 'process.exit(0)'],
    ['when the parent has no more to do', ''],
    ['when the parent stops it', 'await guard.stop(); await guard.stop()'],
    ['when the parent dies of an error', 'throw new Error("on purpose")'],
    ['when the guardian is asked to end', "guard.guardian.kill('SIGTERM'); setInterval(() => {}, 1000).unref()"],
    // The parent lives on then, and takes over.
    ['when the guardian is killed', "guard.guardian.kill('SIGKILL'); setTimeout(() => {}, 1000)"],
  ])('%s', async (_, then) => {
    const parent = await runParent(embedded, stubbornServer(await directoryToRemove(), then));
    await eventually(() => nothingLeft(parent), { what: 'server, guardian and directory are gone' });
  });

  test('when the parent is killed while the database is being made', async () => {
    const dataDir = temporaryDirectory();
    const body = `
      const { startPostgres } = require(embedded + '/postgresServer.js');
      await startPostgres({ dataDir: ${JSON.stringify(dataDir)}, log: (line) => /bootstrap/.test(line) && report({ pids: [], directory: '' }) });
      throw new Error('too late');`;
    const parent = await runParent(embedded, body);
    expect(readdirSync(dataDir)).toEqual([expect.stringMatching(/^\.new-/)]);
    parent.process.kill('SIGKILL');
    await eventually(() => readdirSync(dataDir).length === 0, { what: 'the unfinished cluster is gone' });
  });
});

test('a terminal that hangs up or interrupts does not end the guardian', async () => {
  const then = `
    guard.guardian.kill('SIGINT'); guard.guardian.kill('SIGHUP');
    process.on('SIGTERM', () => guard.stop().then(() => process.exit()));
    setInterval(() => {}, 1000);`;
  const parent = await runParent(embedded, stubbornServer(await directoryToRemove(), then));
  const pids = parent.report.pids as number[];
  // Had a signal ended it, the server would be told to stop and be killed 300 ms later.
  await expect(
    eventually(() => !pids.every(isRunning), { what: 'a process to be gone', timeoutMs: 700 }),
  ).rejects.toThrow('waited 700 ms for a process to be gone');
  parent.process.kill('SIGTERM');
  await eventually(() => nothingLeft(parent), { what: 'server, guardian and directory are gone' });
});

test('a server is not held up by a parent that does not read its output', async () => {
  const marker = join(temporaryDirectory(), 'done');
  const body = `
    const { Guard } = require(embedded + '/guard.js');
    const guard = new Guard([]);
    const program = "for (let i = 0; i < 20000; i += 1) require('fs').writeSync(1, 'x'.repeat(1000)); require('fs').writeFileSync(process.argv[1], '')";
    const server = await guard.run({ file: process.execPath, args: ['-e', program, ${JSON.stringify(marker)}], stopSignal: 'SIGTERM', graceMs: 300 });
    report({});
    setInterval(() => {}, 1000);`;
  const parent = await runParent(embedded, body);
  parent.process.kill('SIGSTOP');
  try {
    await eventually(() => existsSync(marker), { what: 'all 20 MB are written' });
  } finally {
    parent.process.kill('SIGKILL');
  }
});

test('a program that is not there is an error, not a wait', async () => {
  const body = `
    const { Guard } = require(embedded + '/guard.js');
    const guard = new Guard([]);
    const failure = await guard.run({ file: '/no/such/program', args: [], stopSignal: 'SIGTERM', graceMs: 300 }).catch((error) => error);
    await guard.stop();
    report({ message: failure.message });`;
  const parent = await runParent(embedded, body);
  expect(parent.report.message).toBe('/no/such/program cannot be started: spawn /no/such/program ENOENT');
});
