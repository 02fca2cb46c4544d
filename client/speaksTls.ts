import { connect } from 'node:tls';
import { USUAL_PORT } from './usualAddress';

/** The longest that a server is given for the handshake, in milliseconds. */
const HANDSHAKE_MS = 2_000;

/**
 * Says whether the server at host:port makes a TLS handshake. Nothing is sent to it, so it does not
 * matter whose certificate it has.
 */
export const speaksTls = (address: string): Promise<boolean> =>
  new Promise((resolve) => {
    const [, bracketed, plain, port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(address) ?? [];
    const host = bracketed ?? plain ?? '';
    const socket = connect({
      host,
      port: Number(port ?? USUAL_PORT),
      rejectUnauthorized: false,
      ALPNProtocols: ['h2'],
    });
    const end = (speaks: boolean): void => {
      socket.destroy();
      resolve(speaks);
    };
    socket.setTimeout(HANDSHAKE_MS, () => end(false));
    socket.once('secureConnect', () => end(true));
    // A server that demands a certificate says so in an alert, which is TLS, too.
    socket.once('error', (error: Error) => end(/\balert\b/i.test(error.message)));
    socket.once('close', () => end(false));
  });
