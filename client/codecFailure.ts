import { CodecError } from '../handlers/codec/codecError';
import { MusterError } from './errors';

/**
 * Awaits what a codec works on. A `CodecError` becomes a `MusterError` with code CODEC_FAILED, for
 * which `describe` makes a message of the reason; other errors stay as they are.
 */
export const orCodecFailure = async <T>(work: Promise<T>, describe: (why: string) => string): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw new MusterError(error.code, describe(error.message), { cause: error });
  }
};
