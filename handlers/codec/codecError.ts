import { cutText, describeThrown } from '../text';

/** Most characters of what a codec or an object store says. */
const REASON_MAX = 300;

/** Why nothing encoded is read where there is no codec. */
export const NO_CODEC = 'it is encoded, and no payloadCodec is configured here';

/**
 * A value could not be encoded or decoded. Its message has what the codec or the object store says,
 * which is stored and logged as it is: they must not quote values.
 */
export class CodecError extends Error {
  override readonly name = 'CodecError';
  readonly code = 'CODEC_FAILED';

  constructor(
    message: string,
    /** The codec or the object store does not work at all: it is not the fault of the value. */
    readonly away: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

export const reasonOf = (error: unknown): string => cutText(describeThrown(error), REASON_MAX);
