import { HaltError, LaterError, neverSent, RejectedError } from '../../handlers';

/** Nothing succeeds until an operator acts. */
const HALT = new Set([
  'QueueDoesNotExist',
  'AccessDenied',
  'AccessDeniedException',
  'CredentialsProviderError',
  'ExpiredToken',
  'ExpiredTokenException',
  'InvalidAddress',
  'InvalidClientTokenId',
  'InvalidSecurity',
  'KmsAccessDenied',
  'KmsDisabled',
  'SignatureDoesNotMatch',
  'UnrecognizedClientException',
]);
/** SQS is busy: nothing was applied. */
const LATER = new Set(['KmsThrottled', 'OverLimit', 'RequestThrottled', 'Throttling', 'ThrottlingException']);
interface SdkError extends Error {
  $metadata?: { httpStatusCode?: number };
}

/**
 * What a failed SDK call says about the batch, or undefined where the outcome is unknown (a
 * timeout, a reset, a 500). The name decides before the status: SQS answers 403 to a throttled call
 * and 400 to a missing queue.
 */
export function refusal(error: unknown): HaltError | LaterError | RejectedError | undefined {
  if (error instanceof LaterError) {
    return error;
  }
  const { name, message, $metadata } = error as SdkError;
  const status = $metadata?.httpStatusCode ?? 0;
  const said = `${name}: ${message}`;
  if (LATER.has(name) || neverSent(error) || status === 429 || status === 503) {
    return new LaterError(said);
  }
  if (HALT.has(name) || [401, 403, 404].includes(status)) {
    return new HaltError(said);
  }
  return status >= 400 && status < 500 ? new RejectedError(said) : undefined;
}
