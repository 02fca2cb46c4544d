import { fork } from 'node:child_process';
import { once } from 'node:events';
import { constants, cpus, setPriority } from 'node:os';
import path from 'node:path';

/** Callers in a process of their own, so that what they take of the processor is known. */

/** What a process says at its end, besides what it came to. */
export interface Cost {
  /** Part of all processors of this machine that the process took while it ran. */
  processorShare: number;
}
export interface Aside<T> {
  /** Resolves with what it came to, once what it had in progress has been answered. */
  stop(): Promise<T & Cost>;
}

/** Where it computes: as any process, after all others (nice 19), or on the last core alone. */
export const PLACES = ['beside', 'nice', 'core'] as const;
export type Place = (typeof PLACES)[number];

const IDLE = constants.priority.PRIORITY_LOW;

/** Starts a compiled file that calls `runAside`; it ends with this process. */
export const startAside = async <T>(script: string, argument: unknown, place?: Place): Promise<Aside<T>> => {
  const onCore = { execPath: 'taskset', execArgv: ['-c', String(cpus().length - 1), process.execPath] };
  const child = fork(path.resolve(script), [JSON.stringify(argument)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    ...(place === 'core' ? onCore : {}),
  });
  if (place === 'nice') setPriority(child.pid!, IDLE);
  const ended = once(child, 'exit');
  let told: (T & Cost) | null = null;
  const ready = once(child, 'message');
  await Promise.race([
    ready,
    ended.then(() => {
      throw new Error(`Cannot start ${path.basename(script)}: it ended. Look at what it said above.`);
    }),
  ]);
  child.on('message', (message) => (told = message as T & Cost));
  return {
    stop: async () => {
      if (child.connected) child.send('stop');
      await ended;
      if (told === null) throw new Error(`${path.basename(script)}: expected what it came to, and it ended without`);
      return told;
    },
  };
};

/** Runs `work` in a process that `startAside` started; `isOver` says when it is to end. */
export const runAside = <A, T>(work: (argument: A, isOver: () => boolean) => Promise<T>): void => {
  let over = false;
  process.on('message', () => (over = true));
  process.on('disconnect', () => process.exit(1));
  const begun = performance.now();
  process.send!('ready');
  work(JSON.parse(process.argv[2]!) as A, () => over).then(
    (result) => {
      const { user, system } = process.cpuUsage();
      const tookMs = (performance.now() - begun) * cpus().length;
      const processorShare = Math.round(((user + system) / 1_000 / tookMs) * 1_000) / 1_000;
      process.send!({ ...result, processorShare }, () => process.exit(0));
    },
    (error: unknown) => {
      process.stderr.write(`${String(error)}\n`);
      process.exit(1);
    },
  );
};
