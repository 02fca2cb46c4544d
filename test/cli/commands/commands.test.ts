import { once } from 'node:events';
import { rounds } from '../../helpers/long';
import { runProcess, startCli } from '../process';
import type { World } from '../world';
import { CONFIG, createWorld, order } from '../world';

/**
 * `bin/muster.js` as a process: it hands over arguments, standard input, environment, folder, both
 * streams and the exit code. In the long form each command once; in the short one `PROCESSES`,
 * which come and go in all ways, and the others in jest's process, where it is tested what they do.
 *
 * @slow
 */

let world: World;
beforeAll(async () => {
  world = await createWorld();
  world.write('muster.config.ts', CONFIG);
  await world.submit('slow', order('waits', 'se'), order('goes', 'no'));
});
afterAll(() => world.close());

const TASK = JSON.stringify(order('new', 'se'));
const EXECUTION = '0b8f7f0e-5d0f-4f0c-9a52-3a6c5c1d2b11';

/** Arguments, standard input, exit code, and what it says: on stdout with code 0, or stderr. */
const COMMANDS: readonly (readonly [args: string, stdin: string, code: number, says: RegExp])[] = [
  ['init made --yes', '', 0, /^wrote made\/\.gitignore\n/],
  ['mcp --url http://127.0.0.1:9', '', 3, /Cannot reach the API/],
  ['token list', '', 0, /id.*name.*scopes/],
  ['tenant list', '', 0, /tenant.*queued/],
  ['migrate', '', 0, /schema muster: up to date/],
  ['submit orders --file -', TASK, 0, /^orders: accepted 1 task\n$/],
  ['try orders --file -', TASK, 0, /^1 task would go in 1 batch:/],
  ['certify muster.config.ts orders', '', 2, /trial: expected a function that returns a trial/],
  ['task waits', '', 0, /^id +waits\n/],
  ['explain waits', '', 0, /in target "se"/],
  ['cancel goes nobody', '', 1, /^$/],
  ['status', '', 0, /handler.*created/],
  ['targets slow', '', 0, /se/],
  ['tasks slow --state created', '', 0, /waits.*se/],
  ['batches slow', '', 0, /^No such batches/],
  ['errors', '', 0, /^No errors since/],
  ['callbacks send 999999', '', 1, /Callback "?999999"? not found/],
  ['top --once', '', 0, /handler.*calls.s[^]*slow/],
  ['batch 999999', '', 1, /^Error: Batch "?999999/],
  ['verify', '', 0, /All invariants hold/],
  ['doctor', '', 0, /postgres.*ok[^]*no live worker serves/],
  ['replay', '', 0, /^No runs to replay/],
  ['audit', '', 0, /who.*did/],
  ['version', '', 0, /^muster +\d+\.\d+\.\d+\n/],
  ['lanes', '', 0, /^No lanes/],
  ['lane nobody', '', 1, /^Error: Service "nobody" not found/],
  ['queuer', '', 0, /strategy/],
  ['nodes', '', 0, /^No nodes/],
  ['node drain nobody', '', 1, /^Error: .*nobody/],
  ['partitions', '', 0, /^No partitions/],
  ['partition move slow/1', '', 2, /^Error: node: expected a node or --anywhere/],
  ['execute --function none --args-file -', '["1"]', 0, /state +created/],
  [`execution ${EXECUTION}`, '', 1, /^Error: .*not found/],
  ['fanout open --user-key import', '', 0, /^[0-9a-f-]{36}\n$/],
  ['flush slow se', '', 0, /1/],
  ['pause slow', '', 0, /^paused slow\n$/],
  ['resume slow', '', 0, /slow/],
  ['set slow se --max-items 7', '', 0, /target se of slow: maxItems 7/],
  ['limits list', '', 0, /^No limit is set/],
  ['shared-limits list', '', 0, /^No handler shares a limit/],
  ['bulk list', '', 0, /^No bulk actions/],
  ['redrive slow --only failed', '', 0, /\b0\b/],
  ['resolve --task waits --as failed', '', 1, /^Error: .*waits/],
  ['complete orders --reference nowhere --file -', '{"id":"waits","status":"ok"}', 1, /"nowhere" not found/],
];
/** Servers: test/cli/{dev,worker}.test.ts, test/api. */
const SERVERS = ['dev', 'worker', 'api'];

/** With and without standard input, a config file, a store; with each exit code. */
const PROCESSES = ['submit', 'try', 'explain', 'cancel', 'status', 'batch', 'version', 'partition', 'complete'];
const inProcess = async (args: string, stdin: string) => {
  const process = world.start(args, {}, stdin);
  return { code: await process.exit, stdout: process.stdout(), stderr: process.stderr() };
};
const isProcess = (args: string): boolean => rounds(0, 1) === 1 || PROCESSES.includes(args.split(' ')[0]!);

test.each(COMMANDS)('muster %s', async (args, stdin, code, says) => {
  const ended = await (isProcess(args) ? inProcess : world.run)(args, stdin);
  expect({ code: ended.code, out: ended.stdout, err: ended.stderr }).toEqual({
    code,
    out: code === 0 ? expect.stringMatching(says) : expect.any(String),
    err: code === 0 ? expect.any(String) : expect.stringMatching(says),
  });
});

test('every command of --help is among them', async () => {
  const { stdout } = await runProcess(['--help'], { cwd: world.folder });
  const listed = stdout.split('Run:')[1]!.split('Settings come from')[0]!;
  const names = [...listed.matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => name!);
  expect(names.filter((name) => name !== 'help').sort()).toEqual(
    [...COMMANDS.map(([args]) => args.split(' ')[0]!), ...SERVERS].sort(),
  );
});

test('a reader that has seen enough, as `| head`: exit code 0, and no complaint', async () => {
  const { child, exit, stderr } = startCli(['--help'], { cwd: world.folder });
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  expect([await exit, stderr()]).toEqual([0, '']);
});

test('what a command waits for is gone: exit code 1 and a word, not a quiet 0', async () => {
  world.write('hangs.mjs', 'await new Promise(() => undefined);\nexport default [];\n');
  const { code, stdout, stderr } = await runProcess(['try', 'orders', '--file', '-', '--config', 'hangs.mjs'], {
    cwd: world.folder,
  });
  expect([code, stdout, stderr]).toEqual([1, '', 'Error: ended without an answer: what it waited for is gone.\n']);
});
