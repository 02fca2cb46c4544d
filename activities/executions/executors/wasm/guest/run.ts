import { Output } from './output';
import { EXIT, Preview1 } from './preview1';
import { WebAssembly } from './webAssembly';
import type { WasmModule } from './webAssembly';

/** One run of a compiled command: a fresh instance, of which nothing is left. */

export interface Call {
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  stdoutBytes: number;
  stderrBytes: number;
}
/** What the process of a module answers, beside the bytes of both outputs. */
export interface Answer {
  exitCode: number | null;
  /** The run did not end as a command does. */
  error?: string;
  stdoutTotal: number;
  stderrTotal: number;
  cpuMs?: number;
  memoryBytes?: number;
}

const SNAPSHOT = 'wasi_snapshot_preview1';

/**
 * Throws unless the module imports nothing but functions of the snapshot: what it names cannot be
 * given to it.
 */
export const checkImports = (module: WasmModule): void => {
  const known = new Set(Object.keys(new Preview1({ args: [], env: {}, ...newOutputs(0, 0) }).imports));
  for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
    const what = `${clip(from)}.${clip(name)}`;
    if (from !== SNAPSHOT || !known.has(name))
      throw new Error(`it imports ${what}, and this node offers the functions of ${SNAPSHOT} only`);
    if (kind !== 'function') throw new Error(`it imports ${what} as a ${kind}, which is a function`);
  }
};

/** `cpuMs`: the processor time of this thread; undefined: Node cannot tell. */
export const runOnce = (
  module: WasmModule,
  { args, env, stdoutBytes, stderrBytes }: Call,
  cpuMs: () => number | undefined,
): { answer: Answer; stdout: Uint8Array; stderr: Uint8Array } => {
  const { stdout, stderr } = newOutputs(stdoutBytes, stderrBytes);
  const system = new Preview1({ args, env, stdout, stderr });
  const before = cpuMs();
  const { memory, ...ended } = execute(module, system);
  const after = cpuMs();
  return {
    stdout: stdout.bytes(),
    stderr: stderr.bytes(),
    answer: {
      ...ended,
      stdoutTotal: stdout.total,
      stderrTotal: stderr.total,
      ...(memory === null ? {} : { memoryBytes: memory.buffer.byteLength }),
      ...(before === undefined || after === undefined ? {} : { cpuMs: after - before }),
    },
  };
};

const execute = (module: WasmModule, system: Preview1) => {
  let memory = null;
  let what = 'cannot be started';
  try {
    const { exports } = new WebAssembly.Instance(module, { [SNAPSHOT]: system.imports });
    if (!(exports['memory'] instanceof WebAssembly.Memory)) throw new Error('it exports no memory');
    memory = exports['memory'];
    const start = exports['_start'];
    if (typeof start !== 'function') throw new Error('it exports no _start: it is no command');
    system.memory.attach(memory);
    what = 'broke off';
    (start as () => unknown)();
    return { memory, exitCode: system.exitCode ?? 0 };
  } catch (error) {
    if (error === EXIT) return { memory, exitCode: system.exitCode };
    return { memory, exitCode: null, error: `the module ${what}: ${describe(error)}` };
  }
};

const newOutputs = (stdoutBytes: number, stderrBytes: number) => ({
  stdout: new Output(stdoutBytes),
  stderr: new Output(stderrBytes),
});

/** A module may have names of 100,000 bytes, and throw what it likes. */
const LONGEST = 1_000;
const clip = (text: string): string => text.slice(0, LONGEST);
export const describe = (error: unknown): string =>
  clip(error instanceof Error ? error.message : 'it threw an exception that nothing caught');
