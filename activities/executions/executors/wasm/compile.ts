/** A compiled module: opaque, may be sent to a thread. */
export type CompiledModule = object;

/** Node's global, which the types of no DOM do not name. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { compile(bytes: Uint8Array): Promise<CompiledModule> };
};

/** Off this thread. */
export const compileModule = (bytes: Uint8Array): Promise<CompiledModule> => WebAssembly.compile(bytes);
