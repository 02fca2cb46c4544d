import { writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';

/**
 * The main thread of a module's process. It runs nothing of the module: it ends the process when
 * the node that started it is gone, and when the process takes more memory than it may.
 */

/** Tells the node why, and closes when the node does. */
const LIFELINE = 3;
const WATCH_MS = 25;
/** Room for the machine code of this program; that of modules lies elsewhere. */
const CODE_MIB = 16;

export interface GuestOptions {
  /** The program of the thread. */
  source: string;
  /** Resident memory of the process, in bytes. */
  residentBytes: number;
  /** Memory of the thread's objects, in MiB. */
  heapMib: number;
}

const end = (why: string | null): void => {
  try {
    if (why !== null) writeSync(LIFELINE, why);
  } catch {
    // The node is gone.
  }
  process.kill(process.pid, 'SIGKILL'); // an exit would wait for the thread
};

export const watch = ({ source, residentBytes, heapMib }: GuestOptions): void => {
  const lifeline = new Socket({ fd: LIFELINE, readable: true, writable: false });
  lifeline.on('error', () => end(null)).on('close', () => end(null));
  lifeline.resume();
  const thread = new Worker(source, {
    eval: true,
    env: {},
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: heapMib, codeRangeSizeMb: CODE_MIB },
  });
  thread.on('error', (error: NodeJS.ErrnoException) =>
    end(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? TOO_MUCH : `its thread failed: ${error.message}`),
  );
  thread.on('exit', () => end(null));
  setInterval(() => {
    if (process.memoryUsage.rss() > residentBytes) end(TOO_MUCH);
  }, WATCH_MS);
};

const TOO_MUCH = 'it took more memory than this node allows';
