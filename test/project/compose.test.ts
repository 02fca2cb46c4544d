import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import { checkHandlers } from '../../handlers';
import { byDefault, compose, isJob, services, variables } from './compose';
import { read, ROOT, trackedFiles } from './project';

/**
 * Build 9: docker-compose.yml and what it mounts. What a container engine would say of it is in
 * deploy/README.md (what was and was not run).
 */

const run = promisify(execFile);
const of = (name: string) => {
  const service = compose.services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
};
/** Where `:?` demands a value, and where a default stands. */
const isSecret = (name: string): boolean => /PASSWORD|SECRET|KEY|TOKEN/.test(name);

describe('docker-compose.yml [Build 9]', () => {
  test('has a real Temporal with its own Postgres, the Web UI, the application Postgres, migrations and workers', () => {
    expect(Object.keys(compose.services).sort()).toEqual(
      expect.arrayContaining([
        'migrate',
        'postgres',
        'temporal',
        'temporal-namespace',
        'temporal-postgres',
        'temporal-schema',
        'temporal-ui',
        'temporal-ui-door',
        'worker',
      ]),
    );
    expect(of('temporal').environment).toMatchObject({ DB: 'postgres12', POSTGRES_SEEDS: 'temporal-postgres' });
    for (const name of ['worker', 'api', 'worker-previous', 'migrate'])
      expect(of(name).environment?.['MUSTER_DATABASE_URL']).toContain('@postgres:5432/');
    expect(of('worker').deploy?.replicas).toBe('${MUSTER_WORKERS:-2}');
  });

  test.each(services)('%s: has a health check, or is a job that is run again on failure', (_name, service) => {
    if (isJob(service)) expect(service.healthcheck).toBeUndefined();
    else
      expect(service.healthcheck).toMatchObject({
        test: expect.any(Array),
        interval: expect.any(String),
        timeout: expect.any(String),
        start_period: expect.any(String),
      });
    expect(service.restart).toBe(isJob(service) ? 'on-failure:10' : 'unless-stopped');
  });

  test.each(services)('%s: waits for what it needs by its condition', (name, service) => {
    const waits = Object.entries(service.depends_on ?? {});
    for (const [needed, { condition }] of waits)
      expect([needed, condition]).toEqual([
        needed,
        isJob(of(needed)) ? 'service_completed_successfully' : 'service_healthy',
      ]);
    // A service that is named in an address is waited for.
    const addresses = Object.entries(service.environment ?? {})
      .filter(([key]) => /URL|ADDRESS|SEEDS|HOST$/.test(key))
      .map(([, value]) => value);
    const named = Object.keys(compose.services).filter(
      (other) => other !== name && addresses.some((value) => new RegExp(`(^|@)${other}(:|$)`).test(value)),
    );
    // (migrate knows Temporal's address and does not use it.)
    expect(waits.map(([needed]) => needed)).toEqual(
      expect.arrayContaining(named.filter((other) => !(name === 'migrate' && other === 'temporal'))),
    );
  });

  test.each(services)('%s: cannot write outside its volumes, has no capability, is not root', (_name, service) => {
    expect(service).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      logging: { options: { 'max-size': '10m' } },
    });
    // The images of Temporal and of Muster change to their own user; the one of Postgres has to be
    // told.
    if (byDefault(service.image!).startsWith('postgres:')) expect(service.user).toBe('postgres');
    if (!isJob(service)) expect(service.deploy?.resources?.limits?.memory).toMatch(/^\d+[MG]$/);
  });

  test.each(services)('%s: is reached from this machine only, and its image has a version', (_name, service) => {
    for (const port of service.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
    expect(byDefault(service.image!)).toMatch(/^[\w/-]+:(\d|\$\{MUSTER_VERSION|none$)/);
    expect(service.image).not.toMatch(/:latest/);
  });

  test('has no password in the clear and no default for one', () => {
    const written = services.flatMap(([name, { environment = {} }]) =>
      Object.entries(environment).map(([key, value]) => ({ at: `${name}.${key}`, key, value: String(value) })),
    );
    const clear = written.filter(
      ({ key, value }) =>
        (/PASSWORD|PWD|SECRET/.test(key) && !/^\$\{\w+:\?[^}]+\}$/.test(value)) ||
        /:\/\/[^:@/]+:(?!\$\{\w+:\?)[^@/]*@/.test(value),
    );
    expect(clear).toEqual([]);
    expect(written.filter(({ key }) => /PASSWORD|PWD|SECRET/.test(key)).length).toBeGreaterThan(5);
    expect(variables().filter(({ name, rest }) => isSecret(name) && !rest.startsWith(':?'))).toEqual([]);
  });

  test('mounts only files that are in the repository', () => {
    const mounted = services
      .flatMap(([, { volumes = [] }]) =>
        volumes.map((volume) => volume.replace(/^\$\{\w+:-([^}]*)\}/, '$1').split(':')[0]!),
      )
      .filter((source) => source.startsWith('.'));
    expect(mounted.length).toBeGreaterThan(4);
    for (const source of mounted)
      expect([source, statSync(path.join(ROOT, source), { throwIfNoEntry: false }) !== undefined]).toEqual([
        source,
        true,
      ]);
  });

  test('runs the server with timers that fire in time (a linger of 200 ms would take a second), under load too', () => {
    const config = load(read('deploy/temporal-dynamic-config.yaml')) as Record<string, { value: unknown }[]>;
    expect(config['history.timerProcessorMaxTimeShift']).toEqual([{ value: '10ms' }]);
    expect(config['history.cacheNonUserContextLockTimeout']).toEqual([{ value: '10s' }]);
    expect(of('temporal').volumes).toContain(
      `./deploy/temporal-dynamic-config.yaml:${of('temporal').environment?.['DYNAMIC_CONFIG_FILE_PATH']}:ro`,
    );
  });
});

describe('deploy/generate-env.sh [Build 9]', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'muster-env-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const generate = (name: string) => run(path.join(ROOT, 'deploy', 'generate-env.sh'), [path.join(folder, name)]);
  const valuesOf = (name: string): Map<string, string> =>
    new Map(
      [...readFileSync(path.join(folder, name), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [
        key,
        value,
      ]),
    );

  test('gives every variable that compose demands, secrets that nobody else has, to the owner only', async () => {
    await generate('a.env');
    await generate('b.env');
    const [a, b] = [valuesOf('a.env'), valuesOf('b.env')];
    const demanded = variables()
      .filter(({ rest }) => rest.startsWith(':?'))
      .map(({ name }) => name);
    expect(demanded.length).toBeGreaterThan(4);
    expect(demanded.filter((name) => (a.get(name) ?? '') === '')).toEqual([]);
    const secrets = [...a].filter(([name]) => isSecret(name));
    for (const [name, value] of secrets)
      expect([name, value]).toEqual([name, expect.stringMatching(/^([0-9a-f]{48}|whsec_[A-Za-z0-9+/]{43}=)$/)]);
    const all = [...secrets, ...[...b].filter(([name]) => isSecret(name))].map(([, value]) => value);
    expect(new Set(all).size).toBe(2 * secrets.length);
    expect(statSync(path.join(folder, 'a.env')).mode & 0o777).toBe(0o600);
  });

  test('refuses to replace a file: the databases have its passwords', async () => {
    await generate('.env');
    const before = readFileSync(path.join(folder, '.env'), 'utf8');
    await expect(generate('.env')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/exists and was left as it is/),
    });
    expect(readFileSync(path.join(folder, '.env'), 'utf8')).toBe(before);
  });

  test('.env.example names every variable of docker-compose.yml, with the same default, and no secret; .env is not tracked', () => {
    const example = new Map(
      [...read('.env.example').matchAll(/^#?(\w+)=(.*)$/gm)].map(([, key = '', value = '']) => [key, value]),
    );
    const expected = new Map(variables().map(({ name, rest }) => [name, rest.startsWith(':-') ? rest.slice(2) : '']));
    expect(Object.fromEntries(example)).toEqual(Object.fromEntries(expected));
    expect(trackedFiles().filter((file) => /(^|\/)\.env$/.test(file))).toEqual([]);
  });
});

describe('what the containers run [Build 9]', () => {
  test.each(trackedFiles().filter((file) => /^deploy\/.*\.sh$/.test(file)))(
    '%s is a shell script that stops at the first failure',
    async (file) => {
      await run('/bin/sh', ['-n', path.join(ROOT, file)]);
      expect(read(file)).toMatch(/^set -eu$/m);
    },
  );

  test('the example config is one that a worker takes', () => {
    const config = JSON.parse(read('deploy/config/muster.config.json')) as { handlers: unknown };
    expect(checkHandlers(config.handlers, { env: {} }).map(({ name }) => name)).toEqual(['example']);
  });

  test('the image: a build stage, then production packages only, not as root', () => {
    const stages = read('Dockerfile')
      .split(/^FROM /m)
      .slice(1);
    expect(stages).toHaveLength(2);
    expect(stages[0]).toMatch(/npm ci[\s\S]*npm run build[\s\S]*npm prune --omit=dev/);
    expect(stages[1]).toMatch(/\nUSER node\n/);
    expect(stages[1]).not.toMatch(/npm |USER root/);
    expect(stages[1]).toMatch(/\nENTRYPOINT \["node", "\/app\/bin\/muster.js"\]\n/);
    // Everything is left out of the context, then let in: no .env, no key, no local build can slip
    // into a layer.
    expect(
      read('.dockerignore')
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('!')),
    ).toEqual(['*']);
  });
});
