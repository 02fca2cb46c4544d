import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { CompletionEnd } from '../../activities/accepted/complete';
import { completeAccepted, ringCompleted } from '../../activities/accepted/complete';
import type { CompletionReport } from '../../activities/accepted/completion';
import type { ActivityDeps } from '../../activities/deps';
import type { Handler } from '../../handlers/types';
import { handlerOfBatch } from '../../postgres/accepted/completion';
import { isCallbackToken, readCallbackPath } from './token';
import type { Answer } from './answers';
import { answerOf, problem, send } from './answers';
import { BodyTooLarge, readJson, UnreadableBody } from './body';
import { CallbackMemory, NoRoom } from './memory';
import { createDoor, MOST_CONNECTIONS } from '../doors/sockets';

export interface CallbackOptions {
  /** 0: any free one, see `url`. */
  port: number;
  /** If that port is taken, use any free one. */
  elsewhere?: boolean;
  host: string;
  secrets: readonly string[];
  /** Most bytes of one body. */
  maxBytes: number;
  log: Logger;
}
export interface CallbackServer {
  url: string;
  /** Starts to answer requests; before, each gets 503. */
  serve(deps: ActivityDeps): void;
  /** Takes no new connection; requests in progress end within the grace. */
  stop(graceMs: number): Promise<void>;
}

/**
 * How long a downstream that calls back before its acceptance is stored waits before it is told to
 * retry.
 */
const EARLY_WAIT_MS = 2_000;
const EARLY_EVERY_MS = 100;
/** Members for which a body is read. */
const TOLD = ['status', 'results', 'error'];

/**
 * Takes completions by HTTP: `POST <base>/callbacks/<batch>.<created>.<expires>/<token>` with
 * `{"results": [...]}` or `{"status": "expired" | "failed", ...}`. 200 when it is committed, or the
 * same was before;
 * problem details (RFC 9457) otherwise: 400 unreadable, 401 a wrong token, 404 no such batch, 409
 * ended otherwise, 409 with Retry-After too early, 413 too large, 503 with Retry-After for now. TLS
 * is left to a proxy. No URL is ever logged.
 */
export const listenForCallbacks = async (options: CallbackOptions): Promise<CallbackServer> => {
  const receiver = new Receiver(options);
  const server = createDoor((request, response) => void receiver.take(request, response), MOST_CONNECTIONS.callbacks);
  await listen(server, options);
  const { address, family, port } = server.address() as AddressInfo;
  let stopped: Promise<void> | null = null;
  const stop = async (graceMs: number): Promise<void> => {
    receiver.stopping.abort();
    const timer = setTimeout(() => server.closeAllConnections(), graceMs);
    await new Promise<void>((resolve) => server.close(() => resolve())); // and the idle connections
    clearTimeout(timer);
  };
  return {
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    serve: (deps) => receiver.serve(deps),
    stop: (graceMs) => (stopped ??= stop(graceMs)),
  };
};

/** Tries the port instead of checking it first: another process may take it in between. */
const listen = async (server: Server, { port, elsewhere = false, host }: CallbackOptions): Promise<void> => {
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    if (!elsewhere || (error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    server.listen(0, host);
    await once(server, 'listening');
  }
};

class Receiver {
  readonly stopping = new AbortController();
  private deps: ActivityDeps | null = null;
  private readonly memory: CallbackMemory;

  constructor(private readonly options: CallbackOptions) {
    this.memory = new CallbackMemory(options.maxBytes);
  }

  serve(deps: ActivityDeps): void {
    this.deps = deps;
  }

  /** Takes one request; never rejects. */
  async take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.answer(request).catch((error: unknown) => this.failed(error));
    send(request, response, answer, this.stopping.signal.aborted);
  }

  private async answer(request: IncomingMessage): Promise<Answer> {
    const { deps, options } = this;
    const path = readCallbackPath((request.url ?? '').split('?')[0]!);
    if (path === null) return problem(404, 'not-found', 'No such path.');
    if (request.method !== 'POST')
      return problem(405, 'method-not-allowed', `Expected POST, got ${request.method}.`, {}, { allow: 'POST' });
    if (deps === null) return busyNow('The worker is starting.');
    if (!isCallbackToken({ secrets: options.secrets, installation: deps.installation }, path.batch, path.token))
      return problem(
        401,
        'unauthorized',
        'The token does not belong to this batch, or has expired.',
        {},
        { 'www-authenticate': 'Callback' },
      );
    // Before its body: a handler has a part of the memory.
    const { id } = path.batch;
    const name = await handlerOfBatch(deps.pool, path.batch);
    if (name === null) return answerOf({ kind: 'unknown-batch' }, id);
    const handler = deps.handlers.get(name);
    if (handler === undefined) return busyNow(`This worker has no handler ${name}; another worker may have it.`);
    const part = this.memory.part(name, id);
    try {
      const body = await readJson(request, { maxBytes: options.maxBytes, members: TOLD, part });
      return await this.complete(deps, handler, id, body);
    } finally {
      part.leave();
    }
  }

  private async complete(deps: ActivityDeps, handler: Handler, batchId: number, body: object): Promise<Answer> {
    const { status, results, error } = body as CompletionReport; // see TOLD
    const told = { batchId, ...defined({ status, results, error }) };
    const until = performance.now() + EARLY_WAIT_MS;
    let end: CompletionEnd = await completeAccepted(deps, handler, told);
    while (end.kind === 'later' && performance.now() < until && !this.stopping.signal.aborted) {
      await sleep(EARLY_EVERY_MS);
      end = await completeAccepted(deps, handler, told);
    }
    if (end.kind === 'completed') {
      const { rings } = end;
      await ringCompleted(deps, rings).catch((err: Error) =>
        deps.log.warn({ err }, 'a ring after a callback failed; the sweeper will repeat it'),
      );
    }
    const answer = answerOf(end, batchId);
    this.options.log.info(
      {
        batch: batchId,
        handler: handler.name,
        status: answer.status,
        ...(end.kind === 'completed' ? { repeated: end.repeated } : { refused: end.kind }),
      },
      'callback',
    );
    return answer;
  }

  private failed(error: unknown): Answer {
    if (error instanceof BodyTooLarge) return problem(413, 'too-large', error.message, { field: 'body' });
    if (error instanceof UnreadableBody) {
      const { message, field, code } = error;
      return problem(400, 'unreadable', message, defined({ field, code }));
    }
    if (error instanceof NoRoom) return busyNow(error.message);
    this.options.log.error({ err: error }, 'a callback could not be processed');
    return busyNow('The completion could not be stored.');
  }
}

const busyNow = (detail: string): Answer =>
  problem(503, 'unavailable', `${detail} Nothing was settled: send it again.`, {}, { 'retry-after': '1' });

const defined = <T extends object>(values: T): Partial<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
