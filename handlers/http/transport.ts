import { createRequire } from 'node:module';
import type * as Undici from 'undici';
import type { Dispatcher } from 'undici';
import { HaltError, LaterError } from '../errors';
import { cutText, describeThrown } from '../text';
import type { HoldScope } from '../contract';

export interface TransportOptions {
  /** Most connections per host. */
  readonly connections: number;
  readonly connectMs: number;
  readonly keepAliveMs: number;
  /** What waits if the host cannot be reached. */
  readonly unreachable: HoldScope;
}

export interface OutgoingCall {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

export type IncomingAnswer = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

/** A silent connection is probed after this many milliseconds, and given up 10 s later. */
const HTTP_KEEP_ALIVE_MS = 10_000;

/** Records whether the first byte of a request may have been written to a socket. */
interface Mark {
  readonly signal: AbortSignal;
  written: boolean;
}

/**
 * Undici calls `onRequestStart` right before it writes to a connected socket, and does not write an
 * aborted request (`lib/dispatcher/client-h1.js`, `writeH1`). That is exact, while error codes
 * alone would be a guess.
 */
const marking: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
  const mark = (options as { opaque?: Mark }).opaque;
  return dispatch(options, {
    onRequestStart: (controller, context) => {
      if (mark !== undefined && !mark.signal.aborted) mark.written = true;
      handler.onRequestStart?.(controller, context);
    },
    onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
    onResponseStart: (...args) => handler.onResponseStart?.(...args),
    onResponseData: (...args) => handler.onResponseData?.(...args),
    onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
    onResponseError: (...args) => handler.onResponseError?.(...args),
  });
};

/**
 * Keeps the connections of one handler. They are opened by the first call and kept alive, but do
 * not keep the process alive.
 */
export class Transport {
  private dispatcher: Promise<Dispatcher> | undefined;

  constructor(private readonly options: TransportOptions) {}

  /**
   * Sends one request, and does not follow redirects. Throws `LaterError` if no byte of it can have
   * been written (connection refused, DNS, connect timeout, aborted before), `HaltError` if it can
   * never be sent (bad certificate, malformed request), and any other Error if its outcome is
   * unknown.
   */
  async send({ method, url, headers, body, signal }: OutgoingCall): Promise<IncomingAnswer> {
    const mark: Mark = { signal, written: false };
    const { origin, pathname, search } = new URL(url);
    this.dispatcher ??= this.open();
    const request = (await this.dispatcher).request<Mark>({
      origin,
      path: pathname + search,
      method: method,
      headers,
      body: body ?? null,
      signal,
      opaque: mark,
    });
    // Undici reacts to the signal only once it is connected.
    let onAbort = (): void => undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason as Error);
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      const answer = await Promise.race([request, aborted]);
      // A body that is dropped before its end emits an error, for which there may be no listener by
      // then.
      answer.body.on('error', () => undefined);
      return answer;
    } catch (error) {
      request.then(
        (late) => late.body.destroy(),
        () => undefined,
      );
      if (mark.written)
        throw new Error(cutText(`no answer from ${origin}: ${describeThrown(error)}`), { cause: error });
      throw this.notSent(error, origin);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  private notSent(error: unknown, origin: string): Error {
    const reason = cutText(`not sent to ${origin}: ${describeThrown(error)}`);
    const code = (error as { code?: unknown } | null)?.code;
    return typeof code === 'string' && NEVER_SENDABLE.test(code)
      ? new HaltError(reason)
      : new LaterError(reason, { scope: this.options.unreachable });
  }

  /**
   * Loads undici on demand, since most processes that read a config file never need it; not by
   * `import()`, which jest refuses to a package of `node_modules`.
   */
  private async open(): Promise<Dispatcher> {
    const { Agent } = createRequire(__filename)('undici') as typeof Undici;
    const { connections, connectMs, keepAliveMs } = this.options;
    return new Agent({
      connections,
      pipelining: 1,
      // TCP keep-alive detects a dead connection before a call is sent over it.
      connect: { timeout: connectMs, keepAliveInitialDelay: HTTP_KEEP_ALIVE_MS },
      keepAliveTimeout: keepAliveMs,
      // Only the call's signal limits the time: undici's defaults would abort calls that the
      // handler allows.
      headersTimeout: 0,
      bodyTimeout: 0,
    }).compose(marking);
  }
}

/**
 * Codes of a bad certificate, or of a request that undici refuses to write, for which waiting does
 * not help.
 */
const NEVER_SENDABLE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|HOSTNAME_MISMATCH|UND_ERR_INVALID_ARG|UND_ERR_NOT_SUPPORTED|ERR_INVALID_)/;
