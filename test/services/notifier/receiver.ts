import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';

export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

interface Received {
  path: string;
  method: string;
  headers: IncomingHttpHeaders;
  body: string;
}
/**
 * A real HTTP server as webhook receiver; `answer` says what it does with the n-th request (from
 * 1).
 */
export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  answer: (response: ServerResponse, n: number, request: Received) => void;
  close(): Promise<void>;
}

export const startReceiver = async (): Promise<Receiver> => {
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const got = { path: request.url!, method: request.method!, headers: request.headers, body };
      receiver.received.push(got);
      receiver.answer(response, receiver.received.length, got);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}`,
    port,
    received: [],
    answer: (response) => void response.writeHead(204).end(),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return receiver;
};

export interface Message<D> {
  type: string;
  timestamp: string;
  data: D;
}
/** All that came, as the reference verifier reads it: a wrong signature throws. */
export const messagesOf = <D>({ received }: Receiver): Message<D>[] =>
  received.map(
    ({ body, headers }) => new Webhook(SECRET).verify(body, headers as Record<string, string>) as Message<D>,
  );
