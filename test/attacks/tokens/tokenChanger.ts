import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Kind } from './kinds';
import type { Answer, Operation, Operations } from './operations';

interface Options {
  /** Of the API. */
  url: string;
  tokens: ReadonlyMap<Kind, string | null>;
  operations: Operations;
  onAnswer: (answer: Answer) => void;
}
export interface TokenChanger {
  url: string;
  /** The token that is exchanged; with any other a request is passed on as it is. */
  token: string;
  close(): Promise<void>;
}

/** The generator sends it as its own. */
const MARKER = 'any';
/** How many requests each kind sends at least at an operation, where the generator has as many. */
const LEAST = 3;

/**
 * Stands between a generator of requests and the API, and sends each request of an operation with
 * the tokens of some kinds. The generator gets the answer to one of them: to the first kind every
 * second time, as a request that is let in is worth more than one that is refused.
 */
export const startTokenChanger = async (options: Options): Promise<TokenChanger> => {
  const turns = new Turns([...options.tokens.keys()]);
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = '', url: path = '', headers } = request;
    const told = await pass(options, turns, { method, path, headers, body: await bytesOf(request) });
    const { 'transfer-encoding': _, ...others } = told.headers;
    response.writeHead(told.status, others).end(told.body);
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: MARKER,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Whose turn it is, at each operation. */
class Turns {
  private readonly counts = new Map<string, Map<Kind, number>>();

  constructor(private readonly kinds: readonly Kind[]) {}

  /**
   * Returns the kinds that send this request: those that have not tried the operation often yet,
   * and last the one whose answer the generator gets.
   */
  next(operation: Operation): Kind[] {
    const [first, ...others] = this.kinds;
    const counts = this.counts.get(operation.id) ?? new Map<Kind, number>();
    this.counts.set(operation.id, counts);
    const n = [...counts.values()].reduce((sum, count) => sum + count, 0);
    const shown = n % 2 === 1 ? first! : others[n % others.length]!;
    const rare = this.kinds.filter((kind) => kind !== shown && (counts.get(kind) ?? 0) < LEAST);
    for (const kind of [...rare, shown]) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return [...rare, shown];
  }
}

interface Told {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const pass = async ({ url, tokens, operations, onAnswer }: Options, turns: Turns, request: Request): Promise<Told> => {
  const { method, path, headers, body } = request;
  const send = (authorization: string | undefined): Promise<Told> => {
    const { authorization: _, ...others } = headers;
    return answerTo(url, { ...request, headers: authorization === undefined ? others : { ...others, authorization } });
  };
  if (headers.authorization !== `Bearer ${MARKER}`) return send(headers.authorization);
  const operation = operations.find(method, path);
  const sending = operation === null ? [[...tokens.keys()][0]!] : turns.next(operation);
  let last: Told | null = null;
  for (const kind of sending) {
    const token = tokens.get(kind);
    last = await send(token === null ? undefined : `Bearer ${token}`);
    const { status, headers: told } = last;
    if (operation !== null)
      onAnswer({
        kind,
        operation,
        status,
        type: String(told['content-type']),
        text: last.body.toString(),
        asked: `${method} ${path} ${body.toString()}`,
      });
  }
  return last!;
};

interface Request {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** Reads it to its end; of a stream of events, which has none for long, the first piece. */
const bytesOf = async (message: IncomingMessage): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for await (const piece of message) {
    pieces.push(piece as Buffer);
    if (message.headers['content-type'] === 'text/event-stream') break;
  }
  return Buffer.concat(pieces);
};

const answerTo = (url: string, { method, path, headers, body }: Request): Promise<Told> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const sending = ask({ hostname, port, method, path, headers }, (answer) => {
      const { statusCode = 0, headers: told } = answer;
      bytesOf(answer).then((read) => resolve({ status: statusCode, headers: told, body: read }), reject);
    });
    sending.on('error', reject);
    sending.end(body);
  });
