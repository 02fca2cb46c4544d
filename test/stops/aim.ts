import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Ticks of /proc per second. */
const HZ = 100;
/**
 * An entry into workflow code has its own watchdog thread, which begins and ends with it: no thread
 * else is as young.
 */
const YOUNG_TICKS = 3;
/** Between two tries: workflow code runs for a few milliseconds at a time. */
const AGAIN_MS = 4;

export interface Stop {
  /** Workflow code was running: its watchdog thread was there. */
  inside: boolean;
  tries: number;
}

/**
 * Stops the process with SIGSTOP at a moment at which its workflow thread runs workflow code. Tries
 * for up to `timeoutMs`, then stops it wherever it is. Linux only.
 */
export const stopInside = async (pid: number, timeoutMs: number): Promise<Stop> => {
  const until = performance.now() + timeoutMs;
  for (let tries = 1; ; tries++) {
    process.kill(pid, 'SIGSTOP');
    const inside = hasYoungThread(pid);
    if (inside || performance.now() > until) return { inside, tries };
    process.kill(pid, 'SIGCONT');
    await sleep(AGAIN_MS * (0.5 + Math.random()));
  }
};

const hasYoungThread = (pid: number): boolean => {
  const nowTicks = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * HZ;
  return readdirSync(`/proc/${pid}/task`).some((tid) => nowTicks - bornTicks(pid, tid) <= YOUNG_TICKS);
};

/**
 * Field 22 of its stat; the name, field 2, may hold blanks. A thread that has just ended is none.
 */
const bornTicks = (pid: number, tid: string): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/task/${tid}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
  } catch {
    return -Infinity;
  }
};
