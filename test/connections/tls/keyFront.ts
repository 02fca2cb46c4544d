import type { ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { connect, constants, createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Identity } from './mutualFront';

/** A TLS door before a gRPC server without TLS, which demands an API key of every call. */
export interface KeyFront {
  address: string;
  /** The methods that were called with the key, and how often. */
  admitted(): ReadonlyMap<string, number>;
  /** How many calls came without the key, or with another. */
  refused(): number;
  /** How many calls were of methods for which the key has no rights. */
  forbidden(): number;
  /** From now on another key is demanded. */
  demand(key: string): void;
  stop(): Promise<void>;
}

/** gRPC's codes for a call whose caller is not known, and for one that the caller may not make. */
const UNAUTHENTICATED = '16';
const PERMISSION_DENIED = '7';
const { HTTP2_HEADER_STATUS, HTTP2_HEADER_PATH, NGHTTP2_CANCEL } = constants;

/**
 * Passes calls to `to` (host:port) that carry `authorization: Bearer <key>`. `forbids`: methods for
 * which that key has no rights.
 */
export const startKeyFront = async (
  to: string,
  identity: Identity,
  first: string,
  forbids: (method: string) => boolean = () => false,
): Promise<KeyFront> => {
  let key = first;
  let refused = 0;
  let forbidden = 0;
  const admitted = new Map<string, number>();
  const sessions = new Set<ServerHttp2Session>();
  const behind = connect(`http://${to}`);
  behind.on('error', () => undefined);
  const server = createSecureServer({ ...identity, ALPNProtocols: ['h2'] });
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined);
    if (headers.authorization !== `Bearer ${key}`) {
      refused++;
      return refuse(stream, UNAUTHENTICATED);
    }
    const method = String(headers[HTTP2_HEADER_PATH]);
    if (forbids(method)) {
      forbidden++;
      return refuse(stream, PERMISSION_DENIED);
    }
    admitted.set(method, (admitted.get(method) ?? 0) + 1);
    pass(stream, behind.request(headers));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    admitted: () => admitted,
    refused: () => refused,
    forbidden: () => forbidden,
    demand: (next) => (key = next),
    stop: async () => {
      for (const session of sessions) session.destroy();
      behind.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

/** Answers with a status and no message, as a gRPC server refuses. */
const refuse = (stream: ServerHttp2Stream, status: string): void =>
  stream.respond(
    {
      [HTTP2_HEADER_STATUS]: 200,
      'content-type': 'application/grpc',
      'grpc-status': status,
      'grpc-message': 'Request unauthorized.',
    },
    { endStream: true },
  );

/** The status of a call stands in its trailers, or in its headers if there is no message. */
const pass = (stream: ServerHttp2Stream, asked: ClientHttp2Stream): void => {
  let trailers: IncomingHttpHeaders = {};
  asked.on('error', () => stream.close(NGHTTP2_CANCEL));
  asked.on('response', (headers) => {
    if (stream.destroyed) return;
    const isWhole = 'grpc-status' in headers;
    stream.respond(headers, isWhole ? { endStream: true } : { waitForTrailers: true });
    if (!isWhole) asked.pipe(stream);
  });
  asked.on('trailers', (given) => (trailers = given));
  stream.on('wantTrailers', () => stream.sendTrailers(trailers));
  stream.on('close', () => asked.close(stream.rstCode));
  stream.pipe(asked);
};
