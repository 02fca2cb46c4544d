import { MusterError } from '../../errors';
import { DOOR_HEADER } from '../../operations/auditLog';
import type { ApiRequest } from './request';
import type { ApiDocument } from './tool';

/** Longer than the longest wait of the API. */
const TIMEOUT_MS = 90_000;
/** Most characters of an answer that are passed on: what an agent reads costs it. */
const LONGEST_ANSWER = 100_000;

/** What the API answered, as text for an agent. */
export interface ApiAnswer {
  text: string;
  isError: boolean;
}

/** The HTTP API, as the MCP server uses it: with one token, which bounds what an agent may do. */
export class Api {
  constructor(
    private readonly url: string,
    private readonly token: string | null,
  ) {}

  /**
   * Reads what the API can do.
   *
   * @throws MusterError API_UNAVAILABLE when it does not answer, API_REFUSED when it takes no such
   * token.
   */
  async document(): Promise<ApiDocument> {
    return (await this.read('/openapi.json')) as ApiDocument;
  }

  /** Reads what the token may do. */
  async scopes(): Promise<ReadonlySet<string>> {
    const { scopes } = (await this.read('/dashboard/session')) as { scopes: readonly string[] };
    return new Set(scopes);
  }

  /** Sends one request. It answers for every status; it throws only where there is no answer. */
  async call(request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer> {
    const answer = await this.send(request, signal);
    const text = await answer.text();
    return { text: cut(indented(text)), isError: !answer.ok };
  }

  private async read(path: string): Promise<unknown> {
    const answer = await this.send({ method: 'GET', path, headers: {} });
    if (answer.ok) return answer.json();
    throw new MusterError(
      'API_REFUSED',
      `Cannot read ${path} of the API at ${this.url}: it answers ${answer.status}. ` +
        (answer.status === 401
          ? 'Make a token (muster token create), and give it in MUSTER_API_TOKEN or MUSTER_API_TOKEN_FILE.'
          : 'Check --url: expected an API of Muster (muster api, muster dev).'),
    );
  }

  private async send({ method, path, headers, body }: ApiRequest, signal?: AbortSignal): Promise<Response> {
    try {
      return await fetch(new URL(path, this.url), {
        method,
        headers: {
          ...headers,
          [DOOR_HEADER]: 'mcp',
          ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
        },
        redirect: 'error', // the token is for this server alone
        signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), ...(signal === undefined ? [] : [signal])]),
        ...(body === undefined ? {} : { body }),
      });
    } catch (error) {
      const { message, cause } = error as Error & { cause?: Error };
      throw new MusterError(
        'API_UNAVAILABLE',
        `Cannot reach the API at ${this.url}: ${cause?.message || message}. ` +
          'Start muster api or muster dev, or name another with --url.',
        { cause: error },
      );
    }
  }
}

const cut = (text: string): string => {
  if (text.length <= LONGEST_ANSWER) return text;
  const how = `cut after ${LONGEST_ANSWER} of ${text.length} characters: ask for less, with a smaller limit`;
  return `${text.slice(0, LONGEST_ANSWER)}\n[${how}]`;
};

const indented = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
};
