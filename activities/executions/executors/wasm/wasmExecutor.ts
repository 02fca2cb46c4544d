import type { Executor, MakeExecutor } from '../types';
import type { CompiledModule } from './compile';
import type { CompiledModules } from './compiledModules';
import { WasmThread } from './thread';

/**
 * Runs a WebAssembly module (WASI preview 1) of the node's function store: arguments as argv after
 * the method's name, the template's variables as its environment, outputs up to the limit. The
 * module has no folder and no socket; memory and time are limited. Throws what keeps it from
 * starting.
 */
export const wasmExecutor = async (
  modules: CompiledModules,
  source: { store: string; memoryBytes: number },
  make: MakeExecutor,
): Promise<Executor> => {
  const { functionId, method, limits } = make;
  const module = await modules.read(source, functionId, method);
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
