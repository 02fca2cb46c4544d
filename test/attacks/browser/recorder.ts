import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Headers by which a server can tell a page from a program. */
const TELLING = [
  'host',
  'origin',
  'content-type',
  'sec-fetch-site',
  'sec-fetch-mode',
  'sec-fetch-dest',
  'upgrade',
  'access-control-request-method',
  'access-control-request-headers',
] as const;

/** One request as the browser sent it. */
export interface Sent {
  /** Where the page is, as seen from the server. */
  page: string;
  way: string;
  method: string;
  headers: Readonly<Partial<Record<(typeof TELLING)[number], string>>>;
}
export interface Recorder {
  port: number;
  requests: { path: string; method: string; headers: IncomingHttpHeaders }[];
  close(): Promise<void>;
}

/** A server that refuses nothing and remembers what came, by path. */
export const startRecorder = async (): Promise<Recorder> => {
  const requests: Recorder['requests'] = [];
  const server = createServer((request, response) => {
    requests.push({ path: request.url!, method: request.method!, headers: request.headers });
    request.resume();
    response.writeHead(200, { 'content-type': 'text/plain' }).end('recorded');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

/** Returns the telling headers, with words in place of what differs from run to run. */
export const telling = (
  headers: IncomingHttpHeaders,
  ports: { readonly server: number; readonly page: number },
): Sent['headers'] =>
  Object.fromEntries(
    TELLING.flatMap((name) => {
      const value = headers[name];
      if (value === undefined) return [];
      const plain = String(value)
        .replaceAll(`:${ports.server}`, ':{server}')
        .replaceAll(`:${ports.page}`, ':{page}')
        .replace(/boundary=.*/, 'boundary=x');
      return [[name, plain]];
    }),
  );
