import { setTimeout as sleep } from 'node:timers/promises';
import type { Guard, GuardedCommand } from './guard';
import { accepts } from './ports';
import type { Exit, GuardedProcess } from './guarded';

/**
 * From the first start to the first answer. Both servers need well under a second; a busy machine
 * gets thirty.
 */
const READY_DEADLINE_MS = 30_000;
/**
 * How long to try again when the last owner of a port or of a directory is still letting go of it:
 * an ordered stop takes about a second.
 */
const RETRY_MS = 3_000;
const POLL_MS = 20;

export interface Attempt<T> {
  command: GuardedCommand;
  /**
   * Says whether this process answers by now, not another that took the port first. Must not throw.
   */
  ready(server: GuardedProcess): Promise<boolean>;
  /** The ports that it was told to listen on. */
  ports: readonly number[];
  details: T;
}

export interface StartOptions {
  what: string;
  /** Output of a start that failed for a reason that passes. */
  passing: RegExp;
  remedy: string;
}

/** The outside of a running server: what every handle of this folder has. */
export interface ServerHandle {
  pid: number;
  /** Resolves when the server is gone, whatever ended it. */
  exited: Promise<Exit>;
  /**
   * Stops it in order, removes its temporary files; resolves when all is gone. May be called again,
   * also after `kill`.
   */
  stop(): Promise<void>;
  /** SIGKILL at once, as a crash: nothing is flushed. Temporary files are removed afterwards. */
  kill(): void;
}

/**
 * Starts a server and waits until it answers. `plan` is asked anew for every try, so that it can
 * choose other ports. Rejects with the server's last lines if it ends before it answers, or does
 * not answer in 30 s.
 */
export async function startServer<T>(guard: Guard, plan: () => Promise<Attempt<T>>, options: StartOptions) {
  const { what, passing, remedy } = options;
  const begun = Date.now();
  for (;;) {
    const attempt = await plan();
    const server = await guard.run(attempt.command);
    const ready = await untilReady(server, attempt, begun + READY_DEADLINE_MS);
    if (ready) {
      guard.release();
      return { handle: handleOf(guard, server), details: attempt.details };
    }
    const output = server.recentLines().join('\n');
    const mayPass = server.exit !== undefined && passing.test(output) && Date.now() < begun + RETRY_MS;
    // Whatever it said last (a stack trace has pushed the reason out): another start was faster,
    // the next try finds the port taken.
    const lostPort =
      server.exit !== undefined && Date.now() < begun + READY_DEADLINE_MS && (await anyAccepts(attempt.ports));
    if (!mayPass && !lostPort) {
      const how =
        server.exit === undefined ? `it did not answer within ${READY_DEADLINE_MS / 1000} s` : describe(server.exit);
      throw new Error(`${what} did not start: ${how}. Its last lines:\n${output || '(none)'}\nRemedy: ${remedy}.`);
    }
    await sleep(100);
  }
}

const anyAccepts = async (ports: readonly number[]): Promise<boolean> =>
  (await Promise.all(ports.map((port) => accepts(port)))).includes(true);

/** A handle over a started process. */
function handleOf(guard: Guard, server: GuardedProcess): ServerHandle {
  return {
    pid: server.pid as number,
    exited: server.exited,
    stop: () => guard.stop(),
    kill: () => {
      server.kill();
      void guard.stop();
    },
  };
}

/** False if the process ended or the deadline passed first. */
async function untilReady<T>(server: GuardedProcess, attempt: Attempt<T>, deadline: number): Promise<boolean> {
  while (server.exit === undefined && Date.now() < deadline) {
    const ended = server.exited.then(() => false);
    if (await Promise.race([attempt.ready(server), ended])) {
      return server.exit === undefined;
    }
    await Promise.race([sleep(POLL_MS), server.exited]);
  }
  return false;
}

function describe(exit: Exit): string {
  return exit.error ?? (exit.signal ? `it was ended by ${exit.signal}` : `it ended with code ${exit.code}`);
}
