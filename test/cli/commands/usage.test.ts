import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageVersion } from '../../../client/version';
import { runCli, runProcess } from '../process';
import { programToRead } from '../../project/references/cli';
import { CONFIG, makeFolder } from '../world';

/** What goes wrong before any server is asked. */

let folder: string;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => rmSync(folder, { recursive: true }));

const write = (name: string, content: string): void => writeFileSync(path.join(folder, name), content);
const run = (args: string[], env: Record<string, string> = {}, stdin = '') => runCli(args, { cwd: folder, env, stdin });
const DATABASE = { MUSTER_DATABASE_URL: 'postgres://user:hidden@127.0.0.1:1/db' };
const COMMANDS = programToRead().commands.map((command) => command.name());

test('--help names every command, the settings and the exit codes; each command has examples [Build 7]', async () => {
  const all = await run(['--help']);
  expect(all.code).toBe(0);
  for (const name of COMMANDS) expect(all.stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
  for (const text of ['MUSTER_DATABASE_URL', 'TEMPORAL_ADDRESS', 'TEMPORAL_NAMESPACE', 'MUSTER_CONFIG', 'Exit codes:'])
    expect(all.stdout).toContain(text);
  const helps = await Promise.all(COMMANDS.map((name) => run([name, '--help'])));
  for (const { code, stdout } of helps) {
    expect(code).toBe(0);
    expect(stdout).toMatch(/Examples:\n {2}\$ /);
    expect(stdout).toContain('--json');
  }
});

test('--version prints the version, and nothing else', async () => {
  expect(await run(['--version'])).toMatchObject({ code: 0, stdout: `${packageVersion()}\n`, stderr: '' });
});

/** Says, when the process ends, which packages it has loaded. */
const LOADED = `
const packageOf = (file) => /.*node_modules.((?:@[^/]+.)?[^/]+)/.exec(file)?.[1] ?? '';
process.on('exit', () => process.stderr.write('loaded ' + Object.keys(require.cache).map(packageOf).join(' ')));
`;

test('help loads neither a database nor a schema, and what only reads loads neither HTTP nor Temporal', async () => {
  write('loaded.cjs', LOADED);
  const env = { ...DATABASE, NODE_OPTIONS: '--require ./loaded.cjs' };
  const [help, status] = await Promise.all(
    [['status', '--help'], ['status']].map((args) => runProcess(args, { cwd: folder, env })),
  );
  expect([help!.code, status!.code]).toEqual([0, 3]);
  expect(help!.stderr).toMatch(/loaded.* commander /);
  expect(help!.stderr).not.toMatch(/ (zod|pg|jiti|undici|@temporalio)\b/);
  expect(status!.stderr).toMatch(/loaded.* pg /);
  expect(status!.stderr).not.toMatch(/ (undici|@temporalio\/(client|worker|proto)) /);
});

test('bad usage: exit code 2, on stderr; with --json the error is on stdout too', async () => {
  const [command, option, missing, json] = await Promise.all([
    run(['stauts']),
    run(['status', '--nope']),
    run(['submit', 'orders']),
    run(['redrive', 'orders', '--only', 'some', '--json']),
  ]);
  expect([command, option, missing, json].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
  expect(command.stderr).toContain('(Did you mean status?)');
  expect([command, option, missing].map(({ stdout }) => stdout)).toEqual(['', '', '']);
  expect(json.json()).toMatchObject({
    error: { message: expect.stringContaining('Allowed choices are failed, unknown, dead') },
  });
});

test('a list is as long as the client gives it, and a longer one is refused by its option', async () => {
  for (const list of [['targets', 'orders'], ['lanes']]) {
    const { code, stderr } = await run([...list, '--limit', '1001'], DATABASE);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/--limit <n>.* '1001' .*from 1 to 1000\./)]);
    expect((await run([...list, '--limit', '1000'], DATABASE)).code).toBe(3); // the database is asked
  }
});

test('a wrong name of a node is refused by the flag that gave it', async () => {
  const { code, stderr } = await run(['worker', '--node-name', 'a b'], DATABASE);
  expect(code).toBe(2);
  expect(stderr).toContain('--node-name: expected 1-128 characters of a-z, A-Z, 0-9, _, - and .');
});

test('unknown handler: those that there are', async () => {
  write('muster.config.ts', CONFIG);
  const result = await run(['submit', 'order', '--file', '-', '--json'], DATABASE);
  expect(result.code).toBe(2);
  expect(result.json()).toEqual({
    error: {
      code: 'UNKNOWN_HANDLER',
      message: expect.stringContaining('handler: expected one of "orders", "slow", "narrow", got "order"'),
    },
  });
});

test('every problem of the settings and of the config file at once, by where it stands; no secret in any of them [H10]', async () => {
  write(
    'muster.config.json',
    JSON.stringify({
      handlers: [
        {
          kind: 'http',
          name: 'a',
          target: 'x',
          limits: { maxItems: 0 },
          linger: { lingerMs: -1 },
          request: { method: 'POST', url: 'http://127.0.0.1/', encode: 'json', item: '{{payload}}' },
          response: { results: 'items', matchBy: 'id' },
        },
      ],
      temporal: { adress: 'x', apiKey: 'hidden' },
      callbacks: { secret: { env: 'NOT_SET' } },
    }),
  );
  const result = await run(['worker', '--prefix', 'a/b'], {
    MUSTER_DATABASE_URL: 'mysql://user:hidden@host/db',
    TEMPORAL_ADDRESS: 'http://host:1',
  });
  expect(result.code).toBe(2);
  for (const message of [
    'muster.config.json, handlers.0.limits.maxItems: expected a whole number of tasks from 1 to 100,000, got 0',
    'muster.config.json, handlers.0.linger.lingerMs: expected a whole number of milliseconds from 0 to 2,592,000,000, got -1',
    'muster.config.json, temporal.adress: unknown setting; did you mean "address"?',
    'muster.config.json, temporal.apiKey: expected {"env": "NAME"}, since a JSON file must not contain secrets, got another string (not shown',
    'muster.config.json, callbacks.secret: expected a value in the environment variable NOT_SET, got nothing',
    'MUSTER_DATABASE_URL: expected a URL like postgres://user:password@host:5432/database, got another string (not shown',
    'TEMPORAL_ADDRESS: expected host:port, such as localhost:7233, without a scheme, got "http://host:1"',
    '--prefix: expected 1-64 characters',
  ])
    expect(result.stderr).toContain(message);
  expect(result.stderr).not.toContain('hidden');
});

test('a worker whose times contradict each other refuses to start, and names the setting [B4]', async () => {
  write('muster.config.ts', `${CONFIG}export const nodes = { leaseMs: 10_000, shutdownLimitMs: 20_000 };\n`);
  // No server is there: what would start all the same ends with code 3.
  const { code, stderr } = await run(['worker', '--start-timeout', '0ms'], DATABASE);
  expect(code).toBe(2);
  expect(stderr).toContain(
    'nodes.shutdownLimitMs: expected less than leaseMs (10000), got 20000; or the lease ends before the partition is given up',
  );
});

test('a config file that cannot be loaded: where and why', async () => {
  write(
    'muster.config.ts',
    `import { defineHandler } from 'temporal-muster';
export default [defineHandler({
  name: 'a',
  target: (p: any) => p.x,
  limits: { maxItems: 5 },
  linger: { lingerMs: -5 },
  submit: async () => ({ results: [] }),
})];
`,
  );
  const thrown = await run(['worker'], DATABASE);
  expect(thrown.code).toBe(2);
  expect(thrown.stderr).toMatch(
    /muster\.config\.ts, handler "a", linger\.lingerMs: expected a whole number of milliseconds.*got -5/,
  );
  write('muster.config.ts', "import thing from 'no-such-package';\nexport default [thing];\n");
  expect((await run(['worker'], DATABASE)).stderr).toMatch(
    /muster\.config\.ts: cannot be loaded: Cannot find .*no-such-package.*npm install no-such-package/,
  );
  write('muster.config.ts', 'export default [\n');
  expect((await run(['worker'], DATABASE)).stderr).toMatch(/muster\.config\.ts: cannot be loaded: .*Unexpected token/);
});

test('no config file, two of them, one that is not there', async () => {
  const none = await run(['worker'], DATABASE);
  expect(none.stderr).toMatch(
    /config: expected a config file from --config, MUSTER_CONFIG or in this folder, got none of muster\.config\.ts/,
  );
  const named = await run(['worker', '--config', 'other.ts'], DATABASE);
  expect(named.stderr).toMatch(/config: expected a file at .*other\.ts, got none/);
  write('muster.config.ts', CONFIG);
  write('muster.config.js', 'module.exports = [];');
  const two = await run(['worker'], DATABASE);
  expect(two.stderr).toContain(
    'config: expected one config file, got muster.config.ts and muster.config.js; choose one with --config',
  );
  expect([none.code, named.code, two.code]).toEqual([2, 2, 2]);
});

test('no database named: how to name one', async () => {
  const result = await run(['status', '--json']);
  expect(result.code).toBe(2);
  expect(result.json()).toMatchObject({
    error: {
      code: 'INVALID_SETTINGS',
      message: expect.stringMatching(/--database-url, MUSTER_DATABASE_URL or databaseUrl.*muster dev/s),
    },
  });
});

test('database down: exit code 3 and one message without the password', async () => {
  write('muster.config.ts', CONFIG);
  for (const args of [['status'], ['migrate'], ['verify'], ['submit', 'orders', '--file', '-']]) {
    const result = await run(args, DATABASE, '{"id":"a","payload":{"country":"se","n":1}}');
    expect(result.code).toBe(3);
    expect(result.stderr).toMatch(/^Error: Postgres cannot be reached: .*ECONNREFUSED/);
    expect(result.stderr).not.toMatch(/hidden|\n {4}at /);
  }
});
