import { createServer } from 'node:http';
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { namesOneHost } from './oneHost';

/**
 * How each HTTP server of Muster (the API, callbacks, metrics) treats its connections: who sends or
 * reads too slowly is let go, and the number of connections is bounded.
 */

/** Time for the headers of a request to arrive, from the connection or the request before. */
export const HEADERS_MS = 10_000;
/** Time for a whole request to arrive; a slow sender holds its part of the memory as long. */
export const REQUEST_MS = 30_000;
/** Time in which a caller takes enough of an answer or a stream that waits for it, or all of it. */
export const UNREAD_MS = 20_000;
/** Enough: who takes a little now and then would hold the memory of its answers for hours. */
const LEAST_TAKEN = 262_144;
/** How often the limits are checked: each may be exceeded by as much. */
const CHECK_MS = 1_000;
/** How long a refused caller may take to read why. */
const LINGER_MS = 1_000;
/** How long a connection may wait for a next request: longer than proxies in front keep theirs. */
const IDLE_MS = 72_000;
/**
 * Requests of one connection at once. A chunk of 64 KB has a thousand of them, each of which would
 * be worked on, and its answer kept.
 */
const MOST_PIPELINED = 10;

/** Connections at once to each server; the API's are a setting. */
export const MOST_CONNECTIONS = { api: 2_000, callbacks: 1_000, metrics: 100 } as const;

/** Creates a server that bounds what its callers may hold, not listening yet. */
export const createDoor = (handler: RequestListener, maxConnections: number): Server => {
  const server = createServer(
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
      keepAliveTimeout: IDLE_MS,
    },
    onePerTurn(handler),
  );
  server.on('clientError', refuseConnection);
  guardConnections(server, maxConnections);
  return server;
};

const NO_HOST = 'Cannot take the request: Host: expected one name or address, and a port. Name the server once.\n';

/**
 * Lets a connection go that sends many requests without waiting for their answers. Tells answers
 * that wait behind another one when their connection is closed: Node tells only the first, and what
 * the others hold would never be given back.
 */
const onePerTurn = (handler: RequestListener): RequestListener => {
  const working = new WeakMap<Socket, Set<ServerResponse>>();
  const refused = new WeakSet<Socket>();
  const worked = (socket: Socket): Set<ServerResponse> => {
    const all = new Set<ServerResponse>();
    working.set(socket, all);
    socket.once('close', () => {
      for (const response of all) if (response.socket === null) response.destroy().emit('close');
    });
    return all;
  };
  return (request, response) => {
    const { socket } = request;
    const others = working.get(socket) ?? worked(socket);
    if (others.size >= MOST_PIPELINED) socket.destroy();
    // Where one was refused, what was sent behind it is not looked at.
    if (socket.destroyed || socket.writableEnded || refused.has(socket)) return;
    others.add(response);
    response.once('close', () => others.delete(response));
    if (namesOneHost(request)) return handler(request, response);
    // In its turn: it may stand behind others that are answered first.
    refused.add(socket);
    response.writeHead(400, { connection: 'close', 'content-type': 'text/plain' }).end(NO_HOST);
  };
};

/** Calls back when an answer was sent, or its caller is gone: at once, if it is. */
export const whenClosed = ({ socket }: IncomingMessage, response: ServerResponse, then: () => void): void => {
  if (socket.destroyed) then();
  else response.once('close', then);
};

const guardConnections = (server: Server, maxConnections: number): void => {
  server.maxConnections = maxConnections;
  // Those that wait for a next request make room for a caller that has one.
  server.on('drop', () => server.closeIdleConnections());
  const readers = new Map<Socket, Reader>();
  server.on('connection', (socket: Socket) => {
    readers.set(socket, { taken: 0, since: performance.now() });
    socket.once('close', () => readers.delete(socket));
  });
  const timer = setInterval(() => {
    for (const [socket, reader] of readers) if (isStalled(socket, reader)) socket.destroy();
  }, CHECK_MS);
  timer.unref();
  server.once('close', () => clearInterval(timer));
};

/** What a caller has taken, and since when not enough more. */
interface Reader {
  taken: number;
  since: number;
}

const isStalled = (socket: Socket, reader: Reader): boolean => {
  const taken = takenOf(socket);
  const isReading = socket.writableLength === 0 || taken >= reader.taken + LEAST_TAKEN;
  if (!isReading) return performance.now() - reader.since > UNREAD_MS;
  Object.assign(reader, { taken, since: performance.now() });
  return false;
};

/** The system's part of a socket: what was handed to it, and what of that waits in this process. */
interface Handle {
  bytesWritten?: number;
  writeQueueSize?: number;
  readStop?: () => void;
}
const handleOf = (socket: Socket): Handle => (socket as { _handle?: Handle | null })._handle ?? {};

/** Returns how many bytes the system took from this process for the caller. */
const takenOf = (socket: Socket): number => {
  // `socket.bytesWritten` includes what waits here; a stream without a reader still grows by it.
  const { bytesWritten = 0, writeQueueSize = 0 } = handleOf(socket);
  return bytesWritten - writeQueueSize;
};

const REFUSALS: Readonly<Record<string, string>> = {
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
};

/**
 * Destroys a connection whose request cannot be read, after an answer if it had none yet: the
 * caller may never close it.
 */
const refuseConnection = (error: { code?: string }, socket: Duplex): void => {
  if (!socket.writable || (socket as Socket).bytesWritten > 0) {
    socket.destroy();
    return;
  }
  const status = REFUSALS[error.code ?? ''] ?? '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer));
};

/**
 * Reads no more of a request that is refused before its body was read: reading the rest, as Node
 * does, costs what refusing it saves. The connection is destroyed when its caller has had time to
 * read why.
 */
export const readNoMore = ({ socket }: IncomingMessage, response: ServerResponse): void => {
  response.setHeader('connection', 'close');
  // Node calls this after the answer. Destroyed at once, the connection would lose that, too: the
  // system sends a reset where something that was sent is unread.
  socket.destroySoon = () => {
    setImmediate(() => handleOf(socket).readStop?.());
    const timer = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(timer));
  };
};
