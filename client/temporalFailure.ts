import type { ConnectionOptions } from '@temporalio/client';
import { MusterError, TemporalUnavailableError } from './errors';
import { speaksTls } from './speaksTls';

/** Where Temporal was looked for, and how. */
export interface TemporalPlace {
  address: string;
  connection?: Pick<ConnectionOptions, 'tls' | 'apiKey'> | undefined;
}

// gRPC status codes
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

interface Refusal {
  said: RegExp;
  what: string;
  remedy: string;
}

/** The words of OpenSSL, of rustls, and of the two gRPC clients. The first that fits counts. */
const REFUSALS: readonly Refusal[] = [
  {
    said: /valid authentication credentials|does not have permission/,
    what: 'it refused the credentials',
    remedy: 'Check TEMPORAL_API_KEY or the client certificate, and what they may do in TEMPORAL_NAMESPACE.',
  },
  {
    said: /illegal characters/,
    what: 'the API key or other metadata is no text that a header can carry',
    remedy: 'Check TEMPORAL_API_KEY: it is one line of printable ASCII.',
  },
  {
    said: /PrivateKeyParseError|CertificateParseError|InconsistentKeys|key values mismatch|(DECODER|PEM) routines/,
    what: 'the client certificate cannot be used with its key',
    remedy:
      'Check TEMPORAL_TLS_CLIENT_CERT_* and TEMPORAL_TLS_CLIENT_KEY_*: PEM, the key of this certificate, in plain.',
  },
  {
    said: /\balert\b/i,
    what: 'it ended the TLS handshake',
    remedy:
      'Set TEMPORAL_TLS_CLIENT_CERT_PATH and TEMPORAL_TLS_CLIENT_KEY_PATH to a client certificate that it accepts.',
  },
  {
    said: /InvalidCertificate|self-signed certificate|unable to (get|verify)|altnames|has expired|is not yet valid/,
    what: 'its certificate is not trusted',
    remedy: 'Set TEMPORAL_TLS_SERVER_CA_CERT_PATH to its authority, or TEMPORAL_TLS_SERVER_NAME to a name that it has.',
  },
  {
    said: /wrong version number|InvalidContentType|packet length too long/,
    what: 'it does not speak TLS',
    remedy: 'Check TEMPORAL_ADDRESS, or unset TEMPORAL_TLS, TEMPORAL_TLS_* and TEMPORAL_API_KEY.',
  },
];
const TAKES_TLS_ONLY = {
  what: 'it takes TLS only',
  remedy: 'Set TEMPORAL_TLS=true, or what its certificate or API key needs (TEMPORAL_TLS_*, TEMPORAL_API_KEY).',
};

/**
 * Returns why Temporal cannot be used. The code says whether waiting may help:
 * `TEMPORAL_UNAVAILABLE`, or not: `TEMPORAL_REFUSED`. No credential is in the message.
 */
export const temporalFailure = async (place: TemporalPlace, error: unknown): Promise<MusterError> => {
  const { code, text } = innermost(error);
  const isRefused = code === PERMISSION_DENIED || code === UNAUTHENTICATED;
  const refusal = isRefused ? REFUSALS[0]! : REFUSALS.find(({ said }) => said.test(text));
  const { address, connection: { tls, apiKey } = {} } = place;
  if (refusal !== undefined) return refused(address, refusal, text, error);
  const isPlain = (tls ?? apiKey ?? false) === false;
  if (isPlain && !/refused/i.test(text) && (await speaksTls(address)))
    return refused(address, TAKES_TLS_ONLY, text, error);
  return new TemporalUnavailableError(address, text, error);
};

const refused = (
  address: string,
  { what, remedy }: Pick<Refusal, 'what' | 'remedy'>,
  text: string,
  cause: unknown,
): MusterError => {
  // The clients quote metadata that cannot be sent, and with it the key.
  const isQuoted = /Bearer/.test(text);
  return new MusterError(
    'TEMPORAL_REFUSED',
    `Cannot connect to Temporal at ${address}: ${what}${isQuoted ? '' : ` (${text})`}. ${remedy}`,
    isQuoted ? {} : { cause },
  );
};

/** Returns the text of the last cause, in one line, and the code of a gRPC call. */
const innermost = (error: unknown): { code: number | null; text: string } => {
  let code: number | null = null;
  let last = error;
  for (let depth = 0; depth < 10; depth++) {
    const { code: found, cause } = (last ?? {}) as { code?: unknown; cause?: unknown };
    if (typeof found === 'number') code = found;
    if (cause === undefined || cause === null) break;
    last = cause;
  }
  return { code, text: plain(last instanceof Error ? last.message : String(last)) };
};

/** Leaves out what gRPC and OpenSSL put around a reason: addresses in memory, times, files. */
const plain = (message: string): string => {
  const line = message.replaceAll(/\s+/g, ' ').trim();
  const [, last = line] = /Last error: (.*?) ?\.? ?Resolution note:/.exec(line) ?? [];
  const [, reason = last] = /SSL routines:[^:]*:([^:]+):/.exec(last) ?? [];
  return reason
    .replace(/^Error: /, '')
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)$/, '')
    .replace(/\.$/, '');
};
