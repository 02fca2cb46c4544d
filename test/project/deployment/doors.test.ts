import { load } from 'js-yaml';
import type { Compose, Service } from '../compose';
import { byDefault, compose, services } from '../compose';
import { read } from '../project';

/** docker-compose.yml: who reaches what, and with which rights, as far as the file says it. */

const NAMED = Object.fromEntries(services);

/** Every port that the machine opens: `address:port -> port of the container`. */
const published = ({ ports = [] }: Service): string[] =>
  ports.map((port) => {
    const parts = /^(.*):(\d+):(\d+)$/.exec(byDefault(String(port)));
    if (parts === null) throw new Error(`expected address:port:port, got ${port}`);
    return `${parts[1]}:${parts[2]} -> ${parts[3]}`;
  });

test('what is published, and to which address: four ports, to the loopback only', () => {
  const open = services.map(([name, service]) => [name, published(service)]).filter(([, ports]) => ports!.length > 0);
  expect(Object.fromEntries(open)).toEqual({
    // For clients on this machine that wake workers, and the `temporal` command line. It has no
    // authentication: the file says so beside it.
    temporal: ['127.0.0.1:7233 -> 7233'],
    'temporal-ui-door': ['127.0.0.1:8080 -> 8080'],
    // For clients on this machine that submit. It asks for a password.
    postgres: ['127.0.0.1:5432 -> 5432'],
    api: ['127.0.0.1:8088 -> 8080'],
  });
});

test('Temporal asks for no credentials, which its place in the file says, with who reaches it', () => {
  expect(NAMED['temporal']!.environment).toMatchObject({ TEMPORAL_ALLOW_NO_AUTH: 'true' });
  expect(read('docker-compose.yml')).toMatch(
    /# It asks for no credentials: [^\n]*\n[^\n]*loopback[^\n]*\n\s+TEMPORAL_ALLOW_NO_AUTH/,
  );
  const onNetwork = (network: string): string[] =>
    services.filter(([, { networks }]) => networks.includes(network)).map(([name]) => name);
  expect(onNetwork('control').sort()).toEqual(
    ['api', 'temporal', 'temporal-namespace', 'temporal-ui', 'temporal-ui-door', 'worker', 'worker-previous'].sort(),
  );
  // The database of Temporal is on one that nothing leaves and nothing else is on.
  expect(compose.networks['temporal-store']).toEqual({ internal: true });
  expect(onNetwork('temporal-store').sort()).toEqual(['temporal', 'temporal-postgres', 'temporal-schema']);
  expect(NAMED['temporal-postgres']!.networks).toEqual(['temporal-store']);
  expect(onNetwork('muster-store').sort()).toEqual(['api', 'migrate', 'postgres', 'worker', 'worker-previous']);
});

test('each Postgres demands a password, which has no default, and none lets others in without', () => {
  const databases = services.filter(([, { image }]) => byDefault(image!).startsWith('postgres:'));
  expect(databases.map(([name]) => name).sort()).toEqual(['postgres', 'temporal-postgres']);
  for (const [, { environment = {} }] of databases) {
    for (const name of ['POSTGRES_PASSWORD', 'APP_PASSWORD']) expect(environment[name]).toMatch(/^\$\{\w+:\?[^}]+\}$/);
    expect(environment).not.toHaveProperty('POSTGRES_HOST_AUTH_METHOD');
  }
  // Each account has a secret of its own.
  const secrets = databases.flatMap(([, { environment = {} }]) =>
    ['POSTGRES_PASSWORD', 'APP_PASSWORD'].map((name) => environment[name]),
  );
  expect(new Set([...secrets, NAMED['postgres']!.environment!['APP_WORKER_PASSWORD']]).size).toBe(5);
  expect(read('deploy/postgres-init.sh')).not.toMatch(/\btrust\b|pg_hba|(?<!no )superuser/i);
});

test('only what migrates knows the owner of the tables, who could drop the triggers of the audit', () => {
  const { APP_USER, APP_PASSWORD, APP_WORKER_USER, APP_WORKER_PASSWORD } = NAMED['postgres']!.environment!;
  const urlOf = (user?: string, password?: string): string => `postgres://${user}:${password}@postgres:5432/muster`;
  const knows = services
    .filter(([, service]) => JSON.stringify(service.environment ?? {}).includes(APP_PASSWORD!))
    .map(([name]) => name);
  expect(knows.sort()).toEqual(['migrate', 'postgres']);
  expect(NAMED['migrate']).toMatchObject({
    command: ['migrate', '--roles'],
    environment: { MUSTER_DATABASE_URL: urlOf(APP_USER, APP_PASSWORD) },
  });
  for (const name of ['worker', 'worker-previous', 'api'])
    expect([name, NAMED[name]!.environment!['MUSTER_DATABASE_URL']]).toEqual([
      name,
      urlOf(APP_WORKER_USER, APP_WORKER_PASSWORD),
    ]);
});

/** All that a service may say. Whatever gives it more than its own file system is not in it. */
const KNOWN = [
  'build',
  'cap_drop',
  'command',
  'depends_on',
  'deploy',
  'entrypoint',
  'environment',
  'extra_hosts',
  'healthcheck',
  'image',
  'init',
  'logging',
  'networks',
  'ports',
  'profiles',
  'read_only',
  'restart',
  'security_opt',
  'shm_size',
  'stop_grace_period',
  'stop_signal',
  'tmpfs',
  'user',
  'volumes',
];

test.each(services)('%s: no right beyond its own file system, processes and networks', (_name, service) => {
  // Not privileged, cap_add, devices, network_mode, pid, ipc, userns_mode, volumes_from, env_file.
  expect(Object.keys(service).filter((key) => !KNOWN.includes(key))).toEqual([]);
  expect(service.cap_drop).toEqual(['ALL']);
  expect(service.security_opt).toEqual(['no-new-privileges:true']);
  for (const volume of service.volumes ?? []) {
    expect(volume).not.toMatch(/docker\.sock|containerd|\/proc|\/sys/);
    // What is of this machine is only read; what is written is a volume of this project.
    const source = byDefault(volume).split(':')[0]!;
    if (/^[./~]/.test(source)) expect(volume).toMatch(/:ro$/);
    else expect(Object.keys(compose.volumes)).toContain(source);
  }
});

test.each([
  ['a port for every address', "ports: ['5432:5432']", /expected address:port:port/],
  ['one without a port of the machine', 'ports: [5432]', /expected address:port:port/],
])('the test sees %s', (_what, line, said) => {
  const { services: made } = load(`services: { one: { image: a, ${line} } }`) as Compose;
  expect(() => published(made['one']!)).toThrow(said);
});
