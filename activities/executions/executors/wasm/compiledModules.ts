import { compileModule } from './compile';
import type { CompiledModule } from './compile';
import { limitMemory } from './limitMemory';
import { readModule } from './store';

const KEPT = 16;

/** Compiled modules that a process keeps, by module and memory limit: the ones used last. */
export class CompiledModules {
  private readonly kept = new Map<string, Promise<CompiledModule>>();

  /** Reads and verifies the module for every chunk, but compiles it once. */
  async read(
    { store, memoryBytes }: { store: string; memoryBytes: number },
    functionId: string,
    method: string,
  ): Promise<CompiledModule> {
    const bytes = await readModule(store, functionId, method);
    const key = `${functionId} ${memoryBytes}`;
    const found = this.kept.get(key) ?? compileModule(limitMemory(bytes, memoryBytes));
    this.kept.delete(key);
    this.kept.set(key, found);
    for (const old of [...this.kept.keys()].slice(0, Math.max(0, this.kept.size - KEPT))) this.kept.delete(old);
    try {
      return await found;
    } catch (error) {
      this.kept.delete(key);
      throw new Error(`the module cannot be compiled: ${(error as Error).message}`, { cause: error });
    }
  }
}
