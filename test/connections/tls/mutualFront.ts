import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { createServer } from 'node:tls';
import type { TLSSocket } from 'node:tls';

/** A TLS door before a server without TLS, which lets in only clients with a certificate. */
export interface MutualFront {
  address: string;
  /** How many connections with a certificate there were. */
  admitted(): number;
  /** How many were refused, or gave up. */
  refused(): number;
  stop(): Promise<void>;
}

export interface Identity {
  cert: string;
  key: string;
}

/** Passes bytes to `to` (host:port) for clients whose certificate `clientAuthority` has signed. */
export const startMutualFront = async (
  to: string,
  identity: Identity,
  clientAuthority: string,
): Promise<MutualFront> => {
  const open = new Set<TLSSocket>();
  let admitted = 0;
  let refused = 0;
  const [host, port] = to.split(':') as [string, string];
  const demand = { ca: clientAuthority, requestCert: true, rejectUnauthorized: true, ALPNProtocols: ['h2'] };
  const server = createServer({ ...identity, ...demand }, (socket) => {
    admitted++;
    open.add(socket);
    const behind = connect(Number(port), host);
    socket.pipe(behind).pipe(socket);
    for (const [one, other] of [
      [socket, behind],
      [behind, socket],
    ] as const) {
      one.on('error', () => undefined);
      one.on('close', () => other.destroy());
    }
    socket.on('close', () => open.delete(socket));
  });
  server.on('tlsClientError', () => refused++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    admitted: () => admitted,
    refused: () => refused,
    stop: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
