import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import pino from 'pino';
import type { Flags } from '../../../workers/config/config';
import { loadSettings } from '../../../workers/config/config';
import { readDevFile, removeDevFile, writeDevFile } from '../../../workers/dev/file';
import { nodeOptions } from '../../../workers/process';
import { startWorker } from '../../../workers/worker';
import { makeFolder } from '../world';

/**
 * Build 7: flag, then environment, then config file, then a `muster dev` of the folder, then the
 * default.
 */

let cwd: string;
beforeEach(() => {
  cwd = makeFolder();
});
afterEach(() => rmSync(cwd, { recursive: true }));

const load = (flags: Flags = {}, env: Record<string, string> = {}) =>
  // An empty home: whoever runs this test may have a Temporal profile.
  loadSettings(flags, {}, { cwd, env: { HOME: cwd, XDG_CONFIG_HOME: cwd, ...env } });
const url = (host: string): string => `postgres://user@${host}/db`;
const handlers = [
  {
    kind: 'http',
    name: 'a',
    target: 'x',
    limits: { maxItems: 5 },
    request: { method: 'POST', url: 'http://127.0.0.1/', encode: 'json', item: '{{payload}}' },
    response: { results: 'items', matchBy: 'position', status: { path: 'status', ok: [200] } },
  },
];
const writeConfig = (settings: object): void =>
  writeFileSync(path.join(cwd, 'muster.config.json'), JSON.stringify({ handlers, ...settings }));
const dev = {
  pid: process.pid,
  databaseUrl: url('dev'),
  schema: 'dev_schema',
  prefix: 'dev-prefix',
  temporal: { address: 'dev:1', namespace: 'dev-namespace', uiUrl: null },
  config: null,
};

test('executions: what is set is taken, the rest is the default; how long they are kept has a least', async () => {
  writeConfig({ executions: { retentionMs: 3_600_000 } });
  expect((await load()).executions).toMatchObject({ retentionMs: 3_600_000, leaseMs: 15_000 });
  writeConfig({});
  expect((await load()).executions).toMatchObject({ retentionMs: 7 * 86_400_000, startupDelayMs: 60_000 });
  writeConfig({ executions: { retentionMs: 59_999 } });
  await expect(load()).rejects.toThrow(
    /executions\.retentionMs: expected a whole number from 60000 to 315360000000, got 59999/,
  );
});

test('defaults, and no database where none is named', async () => {
  expect(await load()).toMatchObject({
    databaseUrl: null,
    schema: 'muster',
    prefix: 'muster',
    temporal: { address: 'localhost:7233', namespace: 'default' },
    handlers: [],
    callbacks: { allow: [], secret: null },
    logLevel: 'info',
    dev: null,
  });
  await expect(loadSettings({}, { database: true, handlers: true }, { cwd, env: {} })).rejects.toMatchObject({
    problems: [{ path: 'databaseUrl' }, { path: 'config' }],
  });
});

test.each([
  ['databaseUrl', '--database-url', 'MUSTER_DATABASE_URL', 'mysql://x'],
  ['schema', '--schema', 'MUSTER_SCHEMA', 'No Name'],
  ['prefix', '--prefix', 'MUSTER_PREFIX', 'a/b'],
  ['logLevel', '--log-level', 'MUSTER_LOG_LEVEL', 'loud'],
  ['nodeName', '--node-name', 'MUSTER_NODE_NAME', 'a b'],
  ['maxConnections', '--max-connections', 'MUSTER_MAX_CONNECTIONS', '1'],
  ['maxCachedWorkflows', '--max-cached-workflows', 'MUSTER_MAX_CACHED_WORKFLOWS', '5'],
  ['callbackPort', '--callback-port', 'MUSTER_CALLBACK_PORT', '70000'],
  ['apiPort', '--port', 'MUSTER_API_PORT', 'x'],
  ['apiOpen', '--open', 'MUSTER_API_OPEN', 'yes'],
] as const)('a wrong %s is refused where it stands: %s and %s', async (flag, option, variable, wrong) => {
  await expect(load({ [flag]: wrong })).rejects.toMatchObject({
    problems: [{ path: option, message: expect.stringMatching(/^expected /) }],
  });
  await expect(load({}, { [variable]: wrong })).rejects.toMatchObject({
    problems: [{ path: variable, message: expect.stringMatching(/^expected /) }],
  });
});

test('the config file is read, the environment goes over it, a flag over both', async () => {
  writeConfig({
    databaseUrl: url('file'),
    schema: 'file',
    maxConnections: 30,
    maxCachedWorkflows: 300,
    prefix: 'file',
    temporal: { address: 'file:1', namespace: 'file' },
    callbacks: { allow: ['hooks.example.com'], secret: { env: 'SECRET' } },
  });
  const secret = `whsec_${Buffer.from('x'.repeat(24)).toString('base64')}`;
  const file = await load({}, { SECRET: secret });
  expect(file).toMatchObject({
    databaseUrl: url('file'),
    schema: 'file',
    maxConnections: 30,
    maxCachedWorkflows: 300,
    prefix: 'file',
    temporal: { address: 'file:1', namespace: 'file' },
    callbacks: { allow: ['hooks.example.com'], secret: [secret] },
  });
  expect(file.handlers.map(({ name }) => name)).toEqual(['a']);
  const env = {
    SECRET: secret,
    MUSTER_DATABASE_URL: url('env'),
    MUSTER_SCHEMA: 'env',
    MUSTER_MAX_CONNECTIONS: '40',
    MUSTER_MAX_CACHED_WORKFLOWS: '400',
    MUSTER_PREFIX: 'env',
    TEMPORAL_ADDRESS: 'env:1',
    TEMPORAL_NAMESPACE: 'env',
  };
  expect(await load({}, env)).toMatchObject({
    databaseUrl: url('env'),
    schema: 'env',
    maxConnections: 40,
    maxCachedWorkflows: 400,
    prefix: 'env',
    temporal: { address: 'env:1', namespace: 'env' },
  });
  const flags = {
    databaseUrl: url('flag'),
    schema: 'flag',
    maxConnections: '50',
    maxCachedWorkflows: '600',
    prefix: 'flag',
    temporalAddress: 'flag:1',
    namespace: 'flag',
  };
  expect(await load(flags, env)).toMatchObject({
    databaseUrl: url('flag'),
    schema: 'flag',
    maxConnections: 50,
    maxCachedWorkflows: 600,
    prefix: 'flag',
    temporal: { address: 'flag:1', namespace: 'flag' },
  });
});

test('each setting of a node reaches the node', async () => {
  writeConfig({
    maxCachedWorkflows: 300,
    prefix: 'file',
    temporal: { namespace: 'of-file' },
    callbacks: { allow: ['hooks.example.com'] },
    executions: { maxAttempts: 7 },
    nodes: { minimumHoldMs: 1_234 },
    fanouts: { openIdleMs: 3_600_001 },
  });
  const log = pino({ level: 'silent' });
  const options = { log, shutdownGraceMs: 4_321, signal: AbortSignal.abort() };
  const given = nodeOptions(await load(), options);
  expect(given).toMatchObject({
    maxCachedWorkflows: 300,
    prefix: 'file',
    namespace: 'of-file',
    handlers: [{ name: 'a' }],
    callbacks: { allow: ['hooks.example.com'] },
    executions: { maxAttempts: 7 },
    nodes: { minimumHoldMs: 1_234 },
    fanouts: { openIdleMs: 3_600_001 },
    shutdownGraceMs: 4_321,
  });
  expect(given.log).toBe(log);
});

test('times of nodes that contradict each other are refused in the config file and by startWorker [B4]', async () => {
  const nodes = { leaseMs: 10_000, shutdownLimitMs: 20_000 };
  const refused = {
    problems: [
      { path: 'nodes.shutdownLimitMs', message: expect.stringMatching(/less than leaseMs \(10000\), got 20000/) },
    ],
  };
  writeConfig({ nodes });
  await expect(load()).rejects.toMatchObject(refused);
  // Aborted from the start: one that was not refused ends at once.
  const started = startWorker({
    databaseUrl: url('127.0.0.1:1'),
    nodes,
    startTimeoutMs: 0,
    signal: AbortSignal.abort(),
  });
  await expect(started).rejects.toMatchObject(refused);
});

test('TLS and API key as every Temporal tool has them; an API key means TLS', async () => {
  const env = { TEMPORAL_ADDRESS: 'cloud:7233', TEMPORAL_API_KEY: 'key' };
  expect((await load({}, env)).temporal).toMatchObject({
    address: 'cloud:7233',
    connection: { apiKey: 'key', tls: true },
  });
  writeConfig({ temporal: { apiKey: { env: 'OTHER_KEY' } } });
  expect((await load({}, { OTHER_KEY: 'other' })).temporal.connection).toMatchObject({ apiKey: 'other', tls: true });
  writeFileSync(
    path.join(cwd, 'temporal.toml'),
    '[profile.default]\naddress = "profile:7233"\nnamespace = "of-profile"\n',
  );
  expect(
    (await load({}, { OTHER_KEY: 'other', TEMPORAL_CONFIG_FILE: path.join(cwd, 'temporal.toml') })).temporal,
  ).toMatchObject({ address: 'profile:7233', namespace: 'of-profile' });
});

test('the dev servers of the folder: all of them or none, never one installation with the Temporal of another', async () => {
  writeDevFile(cwd, dev);
  expect(await load()).toMatchObject({
    databaseUrl: url('dev'),
    schema: 'dev_schema',
    prefix: 'dev-prefix',
    temporal: { address: 'dev:1', namespace: 'dev-namespace', connection: {} },
  });
  expect(await load({}, { TEMPORAL_ADDRESS: 'env:1' })).toMatchObject({
    databaseUrl: null,
    temporal: { address: 'env:1' },
    dev: null,
  });
  expect(await load({ databaseUrl: url('flag') })).toMatchObject({
    databaseUrl: url('flag'),
    schema: 'muster',
    temporal: { address: 'localhost:7233' },
  });
  writeConfig({ databaseUrl: url('file') });
  expect(await load()).toMatchObject({ databaseUrl: url('file'), dev: null });
  removeDevFile(cwd);
  expect(readDevFile(cwd)).toBeNull();
});

test('what a dev that is gone, or another version, left behind counts for nothing', async () => {
  writeDevFile(cwd, { ...dev, pid: 2 ** 22 + 1 }); // above the largest process id of Linux
  expect(readDevFile(cwd)).toBeNull();
  mkdirSync(path.join(cwd, '.muster'), { recursive: true });
  writeFileSync(path.join(cwd, '.muster', 'dev.json'), '{"pid":1}');
  expect(await load()).toMatchObject({ databaseUrl: null, dev: null });
});

test('a handlers file may be an array, or the file that MUSTER_CONFIG or --config names', async () => {
  mkdirSync(path.join(cwd, 'sub'));
  writeFileSync(path.join(cwd, 'sub', 'list.json'), JSON.stringify(handlers));
  const fromEnv = await load({}, { MUSTER_CONFIG: 'sub/list.json' });
  expect(fromEnv).toMatchObject({ config: path.join(cwd, 'sub', 'list.json'), configNamed: true });
  writeConfig({});
  expect(await load({ config: 'sub/list.json' })).toMatchObject({ config: path.join(cwd, 'sub', 'list.json') });
  expect(await load()).toMatchObject({ config: path.join(cwd, 'muster.config.json'), configNamed: false });
});

test('settings of callbacks: flag, environment, file; a wrong one is named and a secret never shown [H7]', async () => {
  expect((await load()).callback).toEqual({
    port: null,
    host: '127.0.0.1',
    url: null,
    secrets: [],
    urlMs: 604_800_000,
    maxBytes: 16_777_216,
  });
  writeConfig({ callback: { port: 81, url: 'https://file.example', secret: { env: 'HOOKS' }, maxBytes: 2_048 } });
  const env = { HOOKS: 'f'.repeat(32), MUSTER_CALLBACK_PORT: '82', MUSTER_CALLBACK_SECRET: 's'.repeat(32) };
  expect((await load({ callbackPort: '83' }, env)).callback).toEqual({
    port: 83,
    host: '127.0.0.1',
    url: 'https://file.example',
    secrets: ['s'.repeat(32)],
    urlMs: 604_800_000,
    maxBytes: 2_048,
  });
  expect((await load({}, env)).callback.port).toBe(82);
  expect((await load({}, { HOOKS: 'f'.repeat(32) })).callback).toMatchObject({ port: 81, secrets: ['f'.repeat(32)] });
  writeConfig({ callback: { port: 70_000, secret: 'plain', maxBytes: 5, extra: 1 } });
  const wrong = await load({ callbackUrl: 'http://user:hidden@host' }, { MUSTER_CALLBACK_SECRET: 'tooshort' }).catch(
    (error: { problems: { path: string; message: string }[] }) => error.problems,
  );
  expect((wrong as { path: string }[]).map(({ path: at }) => at).sort()).toEqual([
    '--callback-url',
    'MUSTER_CALLBACK_SECRET',
    'muster.config.json, callback.extra',
    'muster.config.json, callback.maxBytes',
    'muster.config.json, callback.port',
    'muster.config.json, callback.secret',
  ]);
  expect(JSON.stringify(wrong)).not.toMatch(/hidden|tooshort/);
});
