/** Node's global, which types without a DOM do not declare. */

export interface WasmMemory {
  readonly buffer: ArrayBuffer;
}
/** A compiled module: opaque. */
export interface WasmModule {
  readonly compiled: unique symbol;
}
export interface WasmInstance {
  readonly exports: Readonly<Record<string, unknown>>;
}
export interface WasmImport {
  module: string;
  name: string;
  kind: string;
}
export type WasmImports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

interface Api {
  Module: {
    new (bytes: Uint8Array): WasmModule;
    imports(module: WasmModule): WasmImport[];
  };
  Instance: new (module: WasmModule, imports: WasmImports) => WasmInstance;
  Memory: new (descriptor: { initial: number }) => WasmMemory;
}

export const { WebAssembly } = globalThis as unknown as { WebAssembly: Api };
