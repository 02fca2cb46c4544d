import type { RunOutcome } from '../../../activities/executions/executors';

/** A module that tries something, and what must come of it. */
export interface Hostile {
  name: string;
  /** The text of a module, or its bytes. */
  module: string | Uint8Array;
  args?: string[];
  /** Time of the run, where it would not end by itself. */
  ms?: number;
  memoryBytes?: number;
  /** Its exit code, or what the failure of its run says. */
  ends: number | RegExp | ((outcome: RunOutcome) => boolean);
}

const IMPORTS: Readonly<Record<string, string>> = {
  args_get: '(param i32 i32) (result i32)',
  args_sizes_get: '(param i32 i32) (result i32)',
  environ_get: '(param i32 i32) (result i32)',
  environ_sizes_get: '(param i32 i32) (result i32)',
  clock_res_get: '(param i32 i32) (result i32)',
  clock_time_get: '(param i32 i64 i32) (result i32)',
  fd_close: '(param i32) (result i32)',
  fd_fdstat_get: '(param i32 i32) (result i32)',
  fd_filestat_get: '(param i32 i32) (result i32)',
  fd_prestat_get: '(param i32 i32) (result i32)',
  fd_read: '(param i32 i32 i32 i32) (result i32)',
  fd_renumber: '(param i32 i32) (result i32)',
  fd_seek: '(param i32 i64 i32 i32) (result i32)',
  fd_write: '(param i32 i32 i32 i32) (result i32)',
  path_open: '(param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)',
  poll_oneoff: '(param i32 i32 i32 i32) (result i32)',
  proc_exit: '(param i32)',
  proc_raise: '(param i32) (result i32)',
  random_get: '(param i32 i32) (result i32)',
  sched_yield: '(result i32)',
  sock_accept: '(param i32 i32 i32) (result i32)',
  sock_recv: '(param i32 i32 i32 i32 i32 i32) (result i32)',
  sock_send: '(param i32 i32 i32 i32 i32) (result i32)',
  sock_shutdown: '(param i32 i32) (result i32)',
};

/** Imports all functions of the system, under their names. */
export const SYSTEM = Object.entries(IMPORTS)
  .map(([name, type]) => `(import "wasi_snapshot_preview1" "${name}" (func $${name} ${type}))`)
  .join('\n');

/** What makes a module a command, which does nothing. */
export const COMMAND = '(memory (export "memory") 1) (func (export "_start"))';

/** A command with memory of one page, and `more` beside it. */
export const command = (body: string, more = ''): string =>
  `(module ${SYSTEM} (memory (export "memory") 1) ${more} (func (export "_start") (local $n i32) ${body}))`;

/** Its exit code is what the function of the system answers. */
export const answer = (call: string, before = ''): string => command(`${before} (call $proc_exit (call $${call}))`);

/** Where a command finds how many arguments it has; the name of the method is the first. */
const COUNT = 60_000;

/**
 * One module for many tries, since each module has a process: it makes the call that the number of
 * its arguments says, and its exit code is what the system answers.
 */
export const tries = (calls: readonly { call: string; ends: Hostile['ends'] }[], before = ''): Hostile[] => {
  const module = command(
    `(drop (call $args_sizes_get (i32.const ${COUNT}) (i32.const ${COUNT + 4})))
    (local.set $n (i32.sub (i32.load (i32.const ${COUNT})) (i32.const 1))) ${before}
    ${calls.map(({ call }, i) => `(if ${isCount(i)} (then (call $proc_exit (call $${call}))))`).join('\n')}`,
  );
  return calls.map(({ call, ends }, i) => ({ name: call, module, ends, args: Array<string>(i).fill('') }));
};

const isCount = (count: number): string => `(i32.eq (local.get $n) (i32.const ${count}))`;

/** Repeats the body until the run is ended. */
export const forEver = (body: string): string => `(loop $on ${body} (br $on))`;

export const ERRNO = { badf: 8, fault: 21, inval: 28, nosys: 52, notdir: 54, notsock: 57, spipe: 70 };
export const INTERRUPTED = /interrupted: /;
