import type { Executor, MakeExecutor } from '../types';
import { compileModule } from './compile';
import type { CompiledModule } from './compile';
import { limitMemory } from './limitMemory';
import { readModule } from './store';
import { WasmThread } from './thread';

/** Compiled modules that a process keeps, by module and memory limit. */
const KEPT = 16;
const compiled = new Map<string, Promise<CompiledModule>>();

/**
 * Runs a WebAssembly module (WASI preview 1) of the node's function store: arguments as argv after
 * the method's name, the template's variables as its environment, outputs up to the limit. The
 * module has no folder and no socket; memory and time are limited. Throws what keeps it from
 * starting.
 */
export const wasmExecutor = async (store: string, memoryBytes: number, make: MakeExecutor): Promise<Executor> => {
  const { functionId, method, limits } = make;
  const module = await compiledModule(store, memoryBytes, functionId, method);
  const idle: WasmThread[] = [];
  const all: WasmThread[] = [];
  return {
    run: async (args, { env, signal }) => {
      const thread = idle.pop() ?? newThread(module, all);
      try {
        return await thread.run({ args: [method, ...args], env, ...limits }, signal);
      } finally {
        idle.push(thread);
      }
    },
    close: async () => {
      await Promise.all(all.map((thread) => thread.close()));
    },
  };
};

const newThread = (module: CompiledModule, all: WasmThread[]): WasmThread => {
  const thread = new WasmThread(module);
  all.push(thread);
  return thread;
};

/** Reads and verifies the module for every chunk, but compiles it once. */
const compiledModule = async (
  store: string,
  memoryBytes: number,
  functionId: string,
  method: string,
): Promise<CompiledModule> => {
  const bytes = await readModule(store, functionId, method);
  const key = `${functionId} ${memoryBytes}`;
  const found = compiled.get(key) ?? compileModule(limitMemory(bytes, memoryBytes));
  compiled.delete(key);
  compiled.set(key, found);
  for (const old of [...compiled.keys()].slice(0, Math.max(0, compiled.size - KEPT))) compiled.delete(old);
  try {
    return await found;
  } catch (error) {
    compiled.delete(key);
    throw new Error(`the module cannot be compiled: ${(error as Error).message}`, { cause: error });
  }
};
