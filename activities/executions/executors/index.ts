import type { CallLog } from '../../../handlers/contract';
import type { RegisteredFunction } from '../../../handlers/functions';
import { isContentId } from '../../../handlers/functions';
import type { Executor, MakeExecutor } from './types';
import { nodeFailure } from './types';
import { typescriptExecutor } from './typescript';
import { httpExecutor } from './http';
import type { ModuleProcesses } from './wasm/moduleProcesses';
import { storedIds } from './wasm/store';
import { wasmExecutor } from './wasm/wasmExecutor';

export type { Executor, OutputLimits, Place, RunOutcome } from './types';
export { ModuleProcesses } from './wasm/moduleProcesses';
export { cutOutput } from './output';
export { nodeFailure } from './types';

/** What a node can run. */
export interface ExecutorSource {
  functions: ReadonlyMap<string, RegisteredFunction>;
  /** Folder of WebAssembly modules: `<function id>/<method>`; null: none. */
  functionStore: string | null;
  /** Memory that one run of a module may grow to. */
  memoryBytes: number;
  /**
   * Hosts that the function `http` may call, as `callbacks.allow`; empty: none, so there is no such
   * function.
   */
  httpAllow: readonly string[];
}

/**
 * Returns the executor of a template on this node. A function that the node lacks fails item by
 * item, so that each item keeps its reason. Functions in TypeScript write to `log`.
 */
export const makeExecutor = async (
  source: ExecutorSource,
  modules: ModuleProcesses,
  make: MakeExecutor,
  log: CallLog,
): Promise<Executor> => {
  const { functionId } = make;
  const registered = source.functions.get(functionId);
  if (registered !== undefined) return typescriptExecutor(registered, log);
  if (functionId === HTTP && source.httpAllow.length > 0) return httpExecutor(source.httpAllow, make);
  const { functionStore: store, memoryBytes } = source;
  if (isContentId(functionId) && store !== null)
    return wasmExecutor(modules, { store, memoryBytes }, make).catch((error: Error) =>
      missing(`the function ${functionId} cannot be run on this node: ${error.message}`),
    );
  const why =
    functionId === HTTP
      ? 'the config of this node allows no host (executions.httpAllow)'
      : isContentId(functionId)
        ? 'the config of this node has no executions.functionStore'
        : `this node has ${[...source.functions.keys()].join(', ') || 'none'}`;
  return missing(`the function ${functionId} is missing on this node: ${why}`);
};

const missing = (why: string): Executor => ({
  runsCode: false,
  run: () => Promise.resolve(nodeFailure(why)),
  close: () => Promise.resolve(),
});

/** Returns the function ids that a node names in roll calls. */
export const servedFunctions = async (source: ExecutorSource): Promise<string[]> => [
  ...source.functions.keys(),
  ...(source.httpAllow.length > 0 ? [HTTP] : []),
  ...(source.functionStore === null ? [] : await storedIds(source.functionStore)),
];

/** Id of the function that calls one URL per item. */
const HTTP = 'http';
