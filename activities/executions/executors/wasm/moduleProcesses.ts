import { availableParallelism } from 'node:os';
import { guestSource } from './guestProgram';
import type { GuestLimits } from './guestProgram';
import { ModuleProcess } from './moduleProcess';

/** Modules compute, and cannot wait for anything but time: more processes only share the cores. */
const MOST = Math.max(4, 2 * availableParallelism());
/** An idle process is kept so long: the next chunk may be of the same module. */
const IDLE_MS = 20_000;
/** Longest start of a process with its module's compilation. */
const COMPILE_MS = 30_000;

const MIB = 1_048_576;
/** What a process takes beside the module's memory: for itself, for code, for outputs. */
const RESIDENT_BYTES = 192 * MIB;
/** The system counts what was mapped for data, used or not: of Node 24 alone 600 MiB. */
const DATA_BYTES = 1_024 * MIB;
/** Objects of the thread, beside those of the module. */
const HEAP_MIB = 32;
/** Compiled code per byte of a module. */
const CODE = 8;

/** A module as it is handed to a process, its memory limited. */
export interface GivenModule {
  /** Id of the function: the hash of the module. */
  functionId: string;
  bytes: Uint8Array;
  memoryBytes: number;
}

interface Idle {
  process: ModuleProcess;
  key: string;
  timer: NodeJS.Timeout;
}

/** Why a module does not run on this node, whichever process is asked. */
export class NotRunnable extends Error {}

/**
 * The processes in which a node runs modules: started when they are needed, each for one module and
 * one run at a time, kept for a while, never more than a few. One that dies is replaced.
 */
export class ModuleProcesses {
  private readonly idle: Idle[] = [];
  private readonly busy = new Map<ModuleProcess, string>();
  private readonly waiting: (() => void)[] = [];
  private readonly ending = new Set<Promise<void>>();
  private starting = 0;
  private source: string | null = null;

  /**
   * Returns a process that has compiled the module, for one run; waits until there may be one.
   * Throws `NotRunnable`, that its process died, or that it was interrupted.
   */
  async take(module: GivenModule, signal: AbortSignal): Promise<ModuleProcess> {
    const key = `${module.functionId} ${module.memoryBytes}`;
    while (!signal.aborted) {
      const found = this.idle.find((one) => one.key === key);
      if (found !== undefined) {
        this.unlist(found);
        this.busy.set(found.process, key);
        return found.process;
      }
      if (this.busy.size + this.starting < MOST) return this.start(module, key, signal);
      await this.freed(signal);
    }
    this.wake(); // this turn is another's
    throw new Error('interrupted');
  }

  /** Takes a process back, after its run. */
  give(process: ModuleProcess): void {
    const key = this.busy.get(process)!;
    this.busy.delete(process);
    if (process.isAlive) {
      const one: Idle = { process, key, timer: setTimeout(() => this.end(one), IDLE_MS).unref() };
      this.idle.push(one);
    }
    this.wake();
  }

  /** Ends all processes; resolves when they are gone. */
  async close(): Promise<void> {
    for (const one of [...this.idle]) this.end(one);
    for (const process of this.busy.keys()) process.kill();
    await Promise.all(this.ending);
  }

  private async start(module: GivenModule, key: string, signal: AbortSignal): Promise<ModuleProcess> {
    if (this.busy.size + this.starting + this.idle.length >= MOST) this.end(this.idle[0]!);
    const process = this.spawn(module);
    this.starting++;
    this.ending.add(process.gone);
    void process.gone.then(() => {
      this.ending.delete(process.gone);
      const idle = this.idle.find((one) => one.process === process);
      if (idle !== undefined) this.unlist(idle);
    });
    const time = AbortSignal.timeout(COMPILE_MS);
    try {
      const why = await process.compile(module.bytes, AbortSignal.any([signal, time]));
      if (why !== null) throw new NotRunnable(`the module cannot be compiled: ${why}`);
      this.busy.set(process, key);
      return process;
    } catch (error) {
      process.kill();
      if (!time.aborted || signal.aborted) throw error;
      throw new NotRunnable(`the module cannot be compiled within ${COMPILE_MS} ms`, { cause: error });
    } finally {
      this.starting--;
      if (!process.isAlive) this.wake();
    }
  }

  /** The system may refuse a process at once: the turn is another's then. */
  private spawn(module: GivenModule): ModuleProcess {
    try {
      return new ModuleProcess((this.source ??= guestSource()), limitsOf(module));
    } catch (error) {
      this.wake();
      throw error;
    }
  }

  private end(one: Idle): void {
    this.unlist(one);
    one.process.kill();
  }

  private unlist(one: Idle): void {
    clearTimeout(one.timer);
    this.idle.splice(this.idle.indexOf(one), 1);
  }

  /** Resolves when a process may be free, or at an interruption. */
  private freed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const leave = (): void => {
        // Who no longer waits must not take the turn of who does.
        const at = this.waiting.indexOf(go);
        if (at >= 0) this.waiting.splice(at, 1);
        resolve();
      };
      const go = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      this.waiting.push(go);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  private wake(): void {
    this.waiting.shift()?.();
  }
}

const limitsOf = ({ bytes, memoryBytes }: GivenModule): GuestLimits => {
  const code = CODE * bytes.length;
  return {
    residentBytes: memoryBytes + RESIDENT_BYTES + code,
    dataBytes: memoryBytes + DATA_BYTES + code,
    heapMib: Math.ceil(memoryBytes / MIB) + HEAP_MIB,
  };
};
