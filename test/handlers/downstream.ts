import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as the downstream saw it. */
export interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export type Answer = (response: ServerResponse, seen: Seen, request: IncomingMessage) => void;

/** A real HTTP server in the test process, whose answer each test chooses. */
export interface Downstream {
  readonly url: string;
  readonly port: number;
  /** Requests, in order of arrival. */
  readonly seen: Seen[];
  answer: Answer;
  close(): Promise<void>;
}

export const json = (status: number, value: unknown, headers: Record<string, string> = {}): Answer => {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
};

export const raw = (status: number, body: string, headers: Record<string, string> = {}): Answer => {
  return (response) => void response.writeHead(status, headers).end(body);
};

export async function startDownstream(): Promise<Downstream> {
  const seen: Seen[] = [];
  const downstream = { seen, answer: json(200, []) };
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      downstream.answer(response, one, request);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(downstream, {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}
