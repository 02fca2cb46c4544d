import { request as askUi } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createDoor } from '../doors/sockets';
import { isOriginOf, refusalOfHost } from '../doors/hosts';
import { LOOPBACK } from './ports';

/**
 * Stands in front of Temporal's Web UI, which answers any name: a page of a web site whose name was
 * rebound to this machine could read workflows, and signal and terminate them.
 */

const CONNECTIONS = 200;

export interface UiDoor {
  close(): void;
}

export interface UiDoorOptions {
  /** Where it listens; default: on the loopback. */
  address?: string;
  /** Names that it answers beside those of this machine, in small letters; default: none. */
  names?: readonly string[];
}

/**
 * Listens on a port of this machine, and passes on to the UI what a browser on it asked for.
 * Rejects if the port is taken.
 */
export const openUiDoor = async (
  port: number,
  ui: { host: string; port: number },
  { address = LOOPBACK, names = [] }: UiDoorOptions = {},
): Promise<UiDoor> => {
  const server = createDoor((request, response) => {
    const refusal = refusalOf(request, names);
    if (refusal === null) pass(ui, request, response);
    else response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(`${refusal}\n`);
  }, CONNECTIONS);
  await listen(server, port, address);
  return {
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
};

const listen = (server: Server, port: number, address: string): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => resolve());
  });

const pass = (ui: { host: string; port: number }, request: IncomingMessage, response: ServerResponse): void => {
  const { method, url, headers } = request;
  const asked = askUi({ ...ui, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers);
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  asked.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
  response.once('close', () => asked.destroy());
  request.pipe(asked);
};

/** Returns why a request is refused; null: it is not. */
const refusalOf = ({ method, headers }: IncomingMessage, names: readonly string[]): string | null => {
  const otherHost = refusalOfHost(headers.host, names);
  if (otherHost !== null) return otherHost;
  const { host = '', origin } = headers;
  // A WebSocket tells nothing else of its page.
  if (origin !== undefined && !isOriginOf(origin, host))
    return `Origin: expected this host, got ${JSON.stringify(origin)}: a page of another site sent this.`;
  const site = headers['sec-fetch-site'];
  const reads = method === 'GET' || method === 'HEAD';
  // A link on another page may lead here.
  if (reads && (site !== 'cross-site' || headers['sec-fetch-mode'] === 'navigate')) return null;
  if (site === undefined || site === 'same-origin' || site === 'none') return null;
  return `Sec-Fetch-Site: expected same-origin or none, got ${JSON.stringify(site)}: a page of another site sent this.`;
};
