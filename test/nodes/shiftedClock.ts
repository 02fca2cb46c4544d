import path from 'node:path';
import threads from 'node:worker_threads';
import type { WorkerOptions } from 'node:worker_threads';

/**
 * A wrong clock for a whole process: preloaded with `--require`, and again by each heartbeat
 * thread, which says so on stdout.
 */

const shiftMs = Number(process.env['MUSTER_TEST_SHIFT_MS'] ?? 0);
const now = Date.now.bind(Date);
const shifted = (): number => now() + shiftMs;
// All of it, as a wrong clock is: what is read by one and compared with the other would be off by
// the hour.
globalThis.Date = new Proxy(Date, {
  construct: (target, args: []) => (args.length === 0 ? new target(shifted()) : new target(...args)),
  get: (target, name) => (name === 'now' ? shifted : (Reflect.get(target, name) as unknown)),
});

if (!threads.isMainThread) process.stdout.write(`${JSON.stringify({ threadShiftMs: Date.now() - now() })}\n`);

/** A heartbeat thread takes no flags of its process, on purpose. */
const Worker = threads.Worker;
class ShiftedWorker extends Worker {
  constructor(file: string | URL, options: WorkerOptions = {}) {
    const isHeartbeat = String(file).includes(`${path.sep}heartbeat${path.sep}`);
    super(file, isHeartbeat ? { ...options, execArgv: ['--require', __filename] } : options);
  }
}
if (threads.isMainThread) (threads as { Worker: unknown }).Worker = ShiftedWorker;
