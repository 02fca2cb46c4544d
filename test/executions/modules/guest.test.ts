import { runInThisContext } from 'node:vm';
import { encodeFrame } from '../../../activities/executions/executors/wasm/guest/frames';
import type { Answer } from '../../../activities/executions/executors/wasm/guest/run';
import { checkImports, runOnce } from '../../../activities/executions/executors/wasm/guest/run';
import { WebAssembly } from '../../../activities/executions/executors/wasm/guest/webAssembly';
import { guestSource } from '../../../activities/executions/executors/wasm/guestProgram';
import { ModuleProcess } from '../../../activities/executions/executors/wasm/moduleProcess';
import { assemble } from '../../../examples/wasm-echo/build';
import { moduleOf, section, text, TYPES, vector } from '../../attacks/wasm/binary';
import { command, ERRNO } from '../../attacks/wasm/hostile';

/** What the process of a module does for it, run here; and what a node takes of such a process. */

const TEXTS = '(data (i32.const 1024) "onetwo") (data (i32.const 1040) "wrong")';
const ran = async (body: string): Promise<Answer & { stdout: string; stderr: string }> => {
  const module = new WebAssembly.Module(await assemble('m.wat', command(body, TEXTS)));
  const call = { args: ['m.wasm'], env: {}, stdoutBytes: 100, stderrBytes: 100 };
  const { answer, stdout, stderr } = runOnce(module, call, () => undefined);
  return { ...answer, stdout: Buffer.from(stdout).toString(), stderr: Buffer.from(stderr).toString() };
};
/** Says which bytes the next write is of. */
const bytes = (at: number, length: number): string =>
  `(i32.store (i32.const 0) (i32.const ${at})) (i32.store (i32.const 4) (i32.const ${length}))`;
const writeTo = (fd: number): string => `(call $fd_write (i32.const ${fd}) (i32.const 0) (i32.const 1) (i32.const 16))`;
const write = (fd: number, at: number, length: number): string => `${bytes(at, length)} (drop ${writeTo(fd)})`;

test('what a command writes bit by bit comes whole and in order, of each output by itself', async () => {
  expect(await ran(write(1, 1_024, 3) + write(2, 1_040, 5) + write(1, 1_027, 3))).toEqual({
    ...{ exitCode: 0, memoryBytes: 65_536 },
    ...{ stdout: 'onetwo', stdoutTotal: 6, stderr: 'wrong', stderrTotal: 5 },
  });
});

test('memory that has grown is read and written as far as it is now', async () => {
  const grow = '(drop (memory.grow (i32.const 1)))';
  const store = '(i32.store (i32.const 70000) (i32.const 0x776f7267))';
  const grown = await ran(write(1, 1_024, 3) + grow + store + write(1, 70_000, 4));
  expect(grown).toMatchObject({ exitCode: 0, stdout: 'onegrow', memoryBytes: 131_072 });
});

test('a descriptor that was renumbered leads where it led under its new number alone', async () => {
  const renumber = '(drop (call $fd_renumber (i32.const 1) (i32.const 2)))';
  const outcome = await ran(`${renumber} ${write(2, 1_024, 3)} (call $proc_exit ${writeTo(1)})`);
  expect(outcome).toMatchObject({ exitCode: ERRNO.badf, stdout: 'one', stderr: '' });
});

test('its program is made of the sources, also where nothing was made of them before', () => {
  const before = process.env['JITI_FS_CACHE'];
  process.env['JITI_FS_CACHE'] = 'false';
  try {
    const load = runInThisContext(`(${guestSource()})`) as (outer: NodeJS.Require) => (file: string) => object;
    const { encodeFrame: encode } = load(require)('./frames') as { encodeFrame: typeof encodeFrame };
    expect(encode({ exitCode: 7 })).toEqual(encodeFrame({ exitCode: 7 }));
  } finally {
    if (before === undefined) delete process.env['JITI_FS_CACHE'];
    else process.env['JITI_FS_CACHE'] = before;
  }
});

test.each([
  ['first', encodeFrame({}, Buffer.from('x'))],
  ['second', encodeFrame({}, Buffer.alloc(0), Buffer.from('x'))],
])('a process that answers more than a compilation has, in its %s part, is ended', async (_, answer) => {
  const says = `require('fs').writeSync(1, Buffer.from('${answer.toString('hex')}', 'hex'))`;
  const limits = { residentBytes: 2 ** 31, dataBytes: 2 ** 31, heapMib: 32 };
  const taken = new ModuleProcess(`() => () => ({ watch: () => ${says} })`, limits);
  const compiling = taken.compile(new Uint8Array(), AbortSignal.timeout(60_000));
  await expect(compiling).rejects.toThrow('the process of the module answered more than it may');
  expect(taken.isAlive).toBe(false);
  await taken.gone;
});

const SNAPSHOT = 'wasi_snapshot_preview1';
const FUNCTION = [0x00, 0x00];
const importing = (from: string, name: string, what: readonly number[]): (() => void) => {
  const imports = section(2, vector([[...text(from), ...text(name), ...what]]));
  const module = new WebAssembly.Module(moduleOf(TYPES, imports));
  return () => checkImports(module);
};

test.each([
  ['functions of another system', 'env', 'fd_write', FUNCTION, 'it imports env.fd_write, and this node offers'],
  ['a function that the snapshot lacks', SNAPSHOT, 'fd_open', FUNCTION, `it imports ${SNAPSHOT}.fd_open, and this`],
  ['what every object has', SNAPSHOT, 'toString', FUNCTION, `it imports ${SNAPSHOT}.toString, and this node offers`],
  ['a memory by the name of a function', SNAPSHOT, 'fd_write', [0x02, 0x00, 0x01], 'as a memory, which is a function'],
])('a module that imports %s is refused, by its name', (_, from, name, what, why) => {
  expect(importing(from, name, what)).toThrow(why);
});

test('a module that imports functions of the snapshot is taken, and one that imports nothing', () => {
  expect(importing(SNAPSHOT, 'fd_write', FUNCTION)).not.toThrow();
  expect(() => checkImports(new WebAssembly.Module(moduleOf(TYPES)))).not.toThrow();
});
