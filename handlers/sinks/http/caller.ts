import type { HoldScope } from '../../contract';
import { HaltError, LaterError, RejectedError } from '../../errors';
import { errorOf, isSuccess } from '../../http/read';
import { retryAfterMs } from '../../http/retryAfter';
import { verdictOf } from '../../http/statusCodes';
import type { Verdict } from '../../http/statusCodes';
import { Transport } from '../../http/transport';
import type { IncomingAnswer } from '../../http/transport';

/** The status of what is not there. */
export const NOT_FOUND = 404;

/** Most bytes of an answer about a batch, as of handlers in JSON. */
export const ANSWER_BYTES_MAX = 16_777_216;

const CONNECTIONS = 32;
const CONNECT_MS = 10_000;
/** As in handlers in JSON: shorter than the idle timeout of the servers that we know. */
const KEEP_ALIVE_MS = 4_000;

export interface HttpCallerOptions {
  /** Scheme, host and path in front of every path. */
  readonly url: string;
  /** Headers of every call, such as the credentials. */
  readonly headers: Readonly<Record<string, string>>;
  /** Texts that no error may show. */
  readonly secrets: readonly string[];
  /** What a status means here, before its common meaning. */
  readonly verdicts?: Readonly<Record<number, Verdict>>;
  /** What waits after a 429 or 503. */
  readonly scope: HoldScope;
}

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly signal: AbortSignal;
}

/** Makes the calls of a sink that speaks HTTP without an SDK. */
export class HttpCaller {
  private readonly transport: Transport;
  readonly secrets: readonly string[];

  constructor(private readonly options: HttpCallerOptions) {
    const { scope } = options;
    this.secrets = options.secrets;
    this.transport = new Transport({
      connections: CONNECTIONS,
      connectMs: CONNECT_MS,
      keepAliveMs: KEEP_ALIVE_MS,
      unreachable: scope,
    });
  }

  /** Makes a call and returns any answer. Throws as `Transport.send` does. */
  async send({ method, path, headers, body, signal }: HttpCall): Promise<IncomingAnswer> {
    const url = `${this.options.url.replace(/\/$/, '')}${path}`;
    return this.transport.send({ method, url, headers: { ...this.options.headers, ...headers }, body, signal });
  }

  /**
   * Makes a call and returns an answer of 2xx. Throws `LaterError`, `RejectedError` or `HaltError`
   * by the status (docs/handlers/http-json.md has the table), and a plain Error if the outcome is
   * unknown.
   */
  async call(call: HttpCall): Promise<IncomingAnswer> {
    const answer = await this.send(call);
    if (isSuccess(answer)) return answer;
    const { verdicts = {}, scope } = this.options;
    const judgement = verdictOf(answer.statusCode, { find: (status) => verdicts[Number(status)] });
    const error = await errorOf(answer, this.secrets);
    switch (judgement.verdict) {
      case 'later':
        throw new LaterError(error, { retryAfterMs: retryAfterMs(answer.headers, Date.now()), scope });
      case 'rejected':
        throw new RejectedError(error);
      case 'halt':
        throw new HaltError(error);
      case 'unknown':
        throw new Error(error);
    }
  }
}
