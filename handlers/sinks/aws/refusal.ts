import type { SubmitAnswer } from '../../contract';
import { HaltError, LaterError } from '../../errors';
import { retryAfterMs } from '../../http/retryAfter';
import { cutText } from '../../text';
import { neverSent } from '../../thrown';

/** An error as the AWS SDK throws it; `$response` is hidden, but there. */
interface SdkError {
  readonly name?: unknown;
  readonly message?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

/** What a service's own errors say, besides those that all services have. */
export interface ServiceErrors {
  /** Not now; nothing was applied. */
  readonly later?: readonly string[];
  /** Nothing succeeds until an operator acts. */
  readonly halt?: readonly string[];
  /** The content of the call is refused; nothing was applied. */
  readonly rejected?: readonly string[];
}

/** Errors of every AWS service; docs.aws.amazon.com, "Common errors" of each API reference. */
const COMMON: Required<ServiceErrors> = {
  later: [
    'KMSThrottlingException',
    'RequestThrottled',
    'RequestThrottledException',
    'ServiceUnavailable',
    'SlowDown',
    'Throttled',
    'ThrottledException',
    'Throttling',
    'ThrottlingException',
    'TooManyRequestsException',
  ],
  halt: [
    'AccessDenied',
    'AccessDeniedException',
    'CredentialsProviderError',
    'ExpiredToken',
    'ExpiredTokenException',
    'IncompleteSignature',
    'IncompleteSignatureException',
    'InvalidClientTokenId',
    'InvalidSignatureException',
    'MissingAuthenticationToken',
    'MissingAuthenticationTokenException',
    'NotAuthorized',
    'OptInRequired',
    'SignatureDoesNotMatch',
    'UnrecognizedClientException',
    'KMSAccessDeniedException',
    'KMSDisabledException',
    'KMSInvalidStateException',
    'KMSNotFoundException',
    'KMSOptInRequired',
  ],
  rejected: ['ValidationError', 'ValidationException', 'SerializationException'],
};

const LATER_STATUS = new Set([429, 503]);
const HALT_STATUS = new Set([401, 403, 404, 407]);

/**
 * Interprets what an AWS client has thrown. Returns `later` or `rejected`, throws `HaltError`, or
 * throws the error as it came where the outcome is unknown (a timeout, a reset, a 500, an answer
 * that cannot be read). The name decides before the status, since services answer 400 to a
 * throttled call and to a missing queue, too.
 */
export function readRefusal(thrown: unknown, own: ServiceErrors): SubmitAnswer {
  if (thrown instanceof HaltError || thrown instanceof LaterError) throw thrown;
  const { name, message, $metadata, $response } = (thrown ?? {}) as SdkError;
  const status = $metadata?.httpStatusCode ?? 0;
  const isNamed = (kind: keyof ServiceErrors): boolean =>
    typeof name === 'string' && (COMMON[kind].includes(name) || own[kind]?.includes(name) === true);
  const error = cutText(`${String(name)}: ${String(message)}`);
  const isRefusal = status >= 400;
  if (isNamed('halt')) throw new HaltError(error);
  if (isRefusal && isNamed('rejected')) return { status: 'rejected', error };
  if (neverSent(thrown) || (isRefusal && (isNamed('later') || LATER_STATUS.has(status)))) {
    return { status: 'later', error, retryAfterMs: retryAfterMs($response?.headers ?? {}, Date.now()) };
  }
  if (HALT_STATUS.has(status)) throw new HaltError(error);
  if (status >= 400 && status <= 499 && status !== 408) return { status: 'rejected', error };
  throw thrown;
}
