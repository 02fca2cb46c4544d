import type { Executor, MakeExecutor, Place } from '../types';
import { nodeFailure } from '../types';
import { limitModule } from './limitModule';
import type { GivenModule, ModuleProcesses } from './moduleProcesses';
import { NotRunnable } from './moduleProcesses';
import { readModule } from './store';

/** Processes in a row that die while they compile a module, before it is taken for the cause. */
const MOST_DEATHS = 3;

/**
 * Runs a WebAssembly module (WASI preview 1) of the node's function store: arguments as argv after
 * the method's name, the template's variables as its environment, outputs up to the limit. It runs
 * in another process, with no folder and no socket; memory and time are limited. Throws what keeps
 * it from starting.
 */
export const wasmExecutor = async (
  processes: ModuleProcesses,
  { store, memoryBytes }: { store: string; memoryBytes: number },
  { functionId, method, limits }: MakeExecutor,
): Promise<Executor> => {
  // Read and verified for every chunk.
  const bytes = limitModule(await readModule(store, functionId, method), memoryBytes);
  const module: GivenModule = { functionId, bytes, memoryBytes };
  let broken: unknown = null;
  let deaths = 0;

  const place = async (signal: AbortSignal): Promise<Place> => {
    try {
      if (broken !== null) throw broken;
      const process = await processes.take(module, signal);
      deaths = 0;
      return {
        run: (args, call) => process.run({ args: [method, ...args], env: call.env, ...limits }, call.signal),
        leave: () => processes.give(process),
      };
    } catch (error) {
      // The next item would meet the same.
      if (error instanceof NotRunnable || (!signal.aborted && ++deaths >= MOST_DEATHS)) broken = error;
      const why = `the function ${functionId} cannot be run on this node: ${(error as Error).message}`;
      return { run: () => Promise.resolve(nodeFailure(why)), leave: () => undefined };
    }
  };
  return {
    runsCode: true,
    place,
    run: async (args, call) => {
      const { run, leave } = await place(call.signal);
      try {
        return await run(args, call);
      } finally {
        leave();
      }
    },
    close: () => Promise.resolve(),
  };
};
