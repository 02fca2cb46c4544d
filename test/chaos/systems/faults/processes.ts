import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { shuffled } from '../../random';
import { CLOCK_VARIABLE, shiftedClock } from '../clock';
import type { Fault } from './fault';

/** Worker processes are killed, stopped, starved, and told a wrong time. */

const HOUR_MS = 3_600_000;

/** One after another, wherever they are; a supervisor starts the next one at once. */
export const kill: Fault = async ({ world: { crew }, random, forMs, times }) => {
  for (let i = 0; i < times; i++) {
    await crew.kill(Math.floor(random() * crew.size));
    await sleep(random() * forMs);
  }
  return times;
};

export const killAll: Fault = async ({ world: { crew }, forMs }) => {
  const killed = await crew.killAll();
  await sleep(forMs);
  crew.restart(killed);
  return killed;
};

export const stop: Fault = async ({ world: { crew }, random, forMs, times }) => {
  const places = shuffled(
    Array.from({ length: crew.size }, (_, place) => place),
    random,
  ).slice(0, times);
  const pids = places.map((place) => crew.pid(place));
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await sleep(forMs);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
  return pids.length;
};

/** One goes on with a clock that is an hour off, until it is killed again. */
export const clock: Fault = async ({ world: { crew, envOf }, random, forMs }) => {
  const place = Math.floor(random() * crew.size);
  const offMs = random() < 0.5 ? -HOUR_MS : HOUR_MS;
  envOf.set(place, { NODE_OPTIONS: `--require ${shiftedClock}`, [CLOCK_VARIABLE]: String(offMs) });
  await crew.kill(place);
  await sleep(forMs);
  envOf.delete(place);
  await crew.kill(place);
  return 2;
};

/** Processes that only compute, beside everything. */
export const starved: Fault = async ({ world: { cleanup }, forMs, times }) => {
  const others = Array.from({ length: times }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  const end = async (): Promise<void> => void others.map((one) => one.kill('SIGKILL'));
  cleanup.add('the busy processes', end);
  await sleep(forMs);
  await end();
  return 0;
};
