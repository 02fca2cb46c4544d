import { fork } from 'node:child_process';
import { once } from 'node:events';

/** Processes of the bench: each part of a side runs in one of its own, and is asked by messages. */

export interface Child {
  pid: number;
  /**
   * Runs a command of the child and answers what it answered; rejects with its error, or when the
   * child ends.
   */
  ask<T = void>(command: string, argument?: unknown): Promise<T>;
  /** A command whose answer nobody waits for. */
  tell(command: string, argument?: unknown): void;
  stop(): Promise<void>;
}

interface Request {
  no: number;
  command: string;
  argument: unknown;
}
interface Reply {
  no: number;
  result?: unknown;
  error?: string;
}
interface Told {
  event: unknown;
}

/**
 * `script`: a compiled file of this folder. `onEvent` gets what the child says unasked. It ends
 * with us: its channel closes.
 */
export const startChild = (
  script: string,
  nodeArgs: string[] = [],
  onEvent: (event: never) => void = () => undefined,
): Child => {
  const child = fork(script, [], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], execArgv: nodeArgs });
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>();
  let last = 0;
  child.on('message', (message: Reply | Told) => {
    if ('event' in message) return onEvent(message.event as never);
    const { resolve, reject } = waiting.get(message.no) ?? {};
    waiting.delete(message.no);
    if (message.error === undefined) resolve?.(message.result as never);
    else reject?.(new Error(message.error));
  });
  const exited = once(child, 'exit').then(([code, signal]: unknown[]) => {
    for (const { reject } of waiting.values())
      reject(new Error(`${script} ended: ${String(signal ?? `code ${String(code)}`)}`));
    waiting.clear();
  });
  const send = (request: Request): void => {
    if (child.connected) child.send(request);
    else waiting.get(request.no)?.reject(new Error(`${script} has ended`));
  };
  return {
    pid: child.pid!,
    ask: (command, argument) =>
      new Promise((resolve, reject) => {
        const no = ++last;
        waiting.set(no, { resolve: resolve, reject });
        send({ no, command, argument });
      }),
    tell: (command, argument) => send({ no: 0, command, argument }),
    stop: async () => {
      if (child.connected) child.disconnect();
      const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await exited;
      clearTimeout(timer);
    },
  };
};

type Command = (argument: never) => unknown;

/** In the child: answers commands until the parent goes; `end` then closes what is open. */
export const serve = (commands: Record<string, Command>, end: () => Promise<void> | void): void => {
  const answer = async ({ no, command, argument }: Request): Promise<void> => {
    try {
      const result: unknown = await commands[command]!(argument as never);
      if (no !== 0) process.send!({ no, result } satisfies Reply);
    } catch (error) {
      process.send!({
        no,
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      } satisfies Reply);
    }
  };
  process.on('message', (request: Request) => void answer(request));
  process.on('disconnect', () => {
    void Promise.resolve(end()).finally(() => process.exit(0));
  });
};

export const tellParent = (event: unknown): void => void process.send!({ event } satisfies Told);
