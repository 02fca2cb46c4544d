/** A compiled module: opaque, may be sent to a thread. */
export type CompiledModule = object;

/** Node's global, which the DOM-less types do not declare. */
const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { compile(bytes: Uint8Array): Promise<CompiledModule> };
};

/** Compiles a module outside of this thread. */
export const compileModule = (bytes: Uint8Array): Promise<CompiledModule> => WebAssembly.compile(bytes);
