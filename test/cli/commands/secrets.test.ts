import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { loadSettings } from '../../../workers/config/config';
import { SettingsError } from '../../../workers/config/settingsError';
import { useConfigFolder } from '../configFolder';

/** Secrets: from the environment or from files, several at once, never in a message. */

const folder = useConfigFolder();
const { load } = folder;
const problems = async (env: Record<string, string> = {}): Promise<string[]> => {
  const thrown = await load(env).then(
    () => null,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(SettingsError);
  return (thrown as SettingsError).problems.map((one) => `${one.path}: ${one.message}`);
};
const write = (name: string, content: string): string => {
  const file = path.join(folder.cwd, name);
  writeFileSync(file, content);
  return file;
};
const handler = (headers: object = {}) => ({
  kind: 'http',
  name: 'a',
  target: 'x',
  limits: { maxItems: 5 },
  request: { url: 'http://127.0.0.1/', headers },
  response: { perItem: false },
});
const writeConfig = (settings: object): void =>
  void write('muster.config.json', JSON.stringify({ handlers: [handler()], ...settings }));
const webhook = (bytes: number, fill = 1): string => `whsec_${Buffer.alloc(bytes, fill).toString('base64')}`;

describe('<name>_FILE', () => {
  const LONG = 'k'.repeat(32);

  test.each([
    ['MUSTER_DATABASE_URL', 'postgres://u:p@h/d', 'databaseUrl', 'postgres://u:p@h/d'],
    ['MUSTER_CALLBACK_SECRET', LONG, 'callback', { secrets: [LONG] }],
    ['MUSTER_CALLBACK_SECRET', `${LONG}1\n${LONG}2`, 'callback', { secrets: [`${LONG}1`, `${LONG}2`] }],
    ['TEMPORAL_API_KEY', 'key', 'temporal', { connection: { apiKey: 'key' } }],
    [
      'TEMPORAL_TLS_CLIENT_KEY_DATA',
      'pem',
      'temporal',
      { connection: { tls: { clientCertPair: { key: Buffer.from('pem') } } } },
    ],
  ])('%s comes from a file, without the line break at its end', async (name, value, field, expected) => {
    const pair: Record<string, string> = name.includes('CLIENT_KEY') ? { TEMPORAL_TLS_CLIENT_CERT_DATA: 'cert' } : {};
    for (const end of ['', '\n', '\r\n']) {
      const settings = await load({ ...pair, [`${name}_FILE`]: write('secret', value + end) });
      const found = settings[field as keyof typeof settings];
      if (typeof expected === 'string') expect(found).toBe(expected);
      else expect(found).toMatchObject(expected);
    }
  });

  test('what a config file names by {"env"} may be a file, too: settings and headers of handlers', async () => {
    const secret = webhook(32);
    const file = write('hook', `${secret}\n`);
    write(
      'muster.config.json',
      JSON.stringify({
        handlers: [handler({ authorization: { env: 'TOKEN', prefix: 'Bearer ' } })],
        databaseUrl: { env: 'DATABASE' },
        temporal: { apiKey: { env: 'KEY' } },
        callbacks: { secret: { env: 'HOOK' } },
      }),
    );
    const settings = await load({
      HOOK_FILE: file,
      TOKEN_FILE: write('token', 's3cret\n'),
      DATABASE_FILE: write('database', 'postgres://h/d\n'),
      KEY_FILE: write('key', 'abc\n'),
    });
    expect(settings).toMatchObject({
      callbacks: { secret: [secret] },
      databaseUrl: 'postgres://h/d',
      temporal: { connection: { apiKey: 'abc' } },
    });
    expect(settings.handlers).toHaveLength(1);
  });

  test('it is read once, at the start', async () => {
    const file = write('database', 'postgres://first/d');
    const settings = await load({ MUSTER_DATABASE_URL_FILE: file });
    writeFileSync(file, 'postgres://second/d');
    expect(settings.databaseUrl).toBe('postgres://first/d');
  });

  test('both, none there, an empty one, a folder, a large one: the variable and the file are named', async () => {
    const empty = write('empty', '\n');
    const large = write('large', 'x'.repeat(70_000));
    const missing = path.join(folder.cwd, 'missing');
    const given = (file: string) => problems({ MUSTER_DATABASE_URL_FILE: file });
    expect(await problems({ MUSTER_DATABASE_URL: 'postgres://h/d', MUSTER_DATABASE_URL_FILE: empty })).toEqual([
      'MUSTER_DATABASE_URL: expected either MUSTER_DATABASE_URL or MUSTER_DATABASE_URL_FILE, got both',
    ]);
    expect(await given(missing)).toEqual([
      expect.stringContaining(`expected a readable file at ${missing} (MUSTER_DATABASE_URL_FILE): `),
    ]);
    expect(await given(empty)).toEqual([
      `MUSTER_DATABASE_URL: expected a value in ${empty} (MUSTER_DATABASE_URL_FILE), got an empty file`,
    ]);
    expect(await given(folder.cwd)).toEqual([expect.stringContaining(`expected a readable file at ${folder.cwd}`)]);
    expect(await given(large)).toEqual([expect.stringContaining('expected at most 65536 bytes')]);
    writeConfig({ handlers: [handler({ authorization: { env: 'TOKEN' } })] });
    expect(await problems({ TOKEN: 'a', TOKEN_FILE: empty })).toEqual([
      expect.stringContaining('expected either TOKEN or TOKEN_FILE, got both'),
    ]);
    expect(await problems({ TOKEN_FILE: missing })).toEqual([expect.stringContaining('TOKEN_FILE')]);
    writeConfig({});
    expect(await problems({ TEMPORAL_API_KEY: 'a', TEMPORAL_API_KEY_FILE: empty })).toEqual([
      expect.stringContaining('expected either TEMPORAL_API_KEY or TEMPORAL_API_KEY_FILE, got both'),
    ]);
  });

  test('a wrong value is named by its variable, and never shown', async () => {
    const file = write('database', 'mysql://user:hidden@host/d');
    const [only, ...others] = await problems({ MUSTER_DATABASE_URL_FILE: file });
    expect(others).toEqual([]);
    expect(only).toMatch(/^MUSTER_DATABASE_URL_FILE: expected a URL like postgres/);
    expect(only).not.toContain('hidden');
  });

  test('a flag goes first, and the file is not read', async () => {
    const settings = await loadSettings(
      { databaseUrl: 'postgres://flag/d' },
      {},
      { cwd: folder.cwd, env: { HOME: folder.cwd, MUSTER_DATABASE_URL_FILE: path.join(folder.cwd, 'missing') } },
    );
    expect(settings.databaseUrl).toBe('postgres://flag/d');
  });
});

describe('secrets of webhooks', () => {
  test.each([
    [23, false],
    [24, true],
    [32, true],
    [64, true],
    [65, false],
    [0, false],
  ])('of %i bytes: taken: %s', async (bytes, isTaken) => {
    writeConfig({ callbacks: { secret: { env: 'HOOK' } } });
    const secret = bytes === 0 ? 'whsec_' : webhook(bytes);
    if (isTaken) return expect((await load({ HOOK: secret })).callbacks.secret).toEqual([secret]);
    const found = await problems({ HOOK: secret });
    expect(found).toEqual([
      'muster.config.json, callbacks.secret: expected a Standard Webhooks secret, whsec_ and base64 of ' +
        '24 to 64 bytes, got another string (not shown: it may contain a secret) in the environment variable HOOK',
    ]);
  });

  test('a list, and several lines of one variable, are several; each is checked', async () => {
    writeConfig({ callbacks: { secret: [{ env: 'NEW' }, { env: 'OLD' }] } });
    const [first, second, third] = [webhook(24, 1), webhook(24, 2), webhook(24, 3)];
    expect((await load({ NEW: first, OLD: `${second}\n${third}\n` })).callbacks.secret).toEqual([first, second, third]);
    expect(await problems({ NEW: first, OLD: 'plain' })).toEqual([
      expect.stringContaining('callbacks.secret.1: expected a Standard Webhooks secret'),
    ]);
    writeConfig({ callbacks: { secret: [] } });
    expect(await problems()).toEqual([expect.stringContaining('callbacks.secret: expected 1 to 8 secrets, got 0')]);
  });

  test('receivers have their own; hosts, patterns and secrets are checked by name', async () => {
    writeConfig({
      callbacks: {
        receivers: [{ allow: 'hooks.example.com:8443', secret: { env: 'HOOK' } }],
        workflows: { allow: ['order-*'], signals: ['order*'], http: ['order-*'] },
      },
    });
    expect((await load({ HOOK: webhook(32) })).callbacks).toEqual({
      allow: [],
      secret: null,
      receivers: [{ allow: 'hooks.example.com:8443', secret: [webhook(32)] }],
      workflows: { allow: ['order-*'], signals: ['order*'], http: ['order-*'] },
    });
    writeConfig({
      callbacks: {
        allow: ['*.example.com', 'a/b'],
        receivers: [{ allow: 'user@host', secret: 'whsec_plain' }, { allow: 'host' }],
        workflows: { allow: [''], signals: ['__temporal*'], other: [] },
      },
    });
    expect((await problems()).map((one) => one.split(': ')[0]!.replace('muster.config.json, ', '')).sort()).toEqual([
      'callbacks.allow.0',
      'callbacks.allow.1',
      'callbacks.receivers.0.allow',
      'callbacks.receivers.0.secret',
      'callbacks.receivers.1.secret',
      'callbacks.workflows.allow.0',
      'callbacks.workflows.other',
      'callbacks.workflows.signals.0',
    ]);
  });

  test('by default: callbacks go to every workflow for the library, to none for the HTTP API', async () => {
    expect((await load()).callbacks).toEqual({
      allow: [],
      secret: null,
      receivers: [],
      workflows: { allow: ['*'], signals: [], http: [] },
    });
  });
});

test('ceilings of executions: defaults, and what the file says', async () => {
  expect((await load()).executions).toMatchObject({ maxConcurrency: 256, maxTimeoutMs: 3_600_000 });
  writeConfig({ executions: { maxConcurrency: 4, maxTimeoutMs: 1_000 } });
  expect((await load()).executions).toMatchObject({ maxConcurrency: 4, maxTimeoutMs: 1_000 });
  writeConfig({ executions: { maxConcurrency: 0 } });
  expect(await problems()).toEqual([expect.stringContaining('executions.maxConcurrency: expected a whole number')]);
});
