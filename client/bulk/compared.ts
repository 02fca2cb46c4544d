import { CodecError } from '../../handlers/codec/codecError';
import { envelopesIn, isEnvelope } from '../../handlers/codec/envelope';
import type { Sealer } from '../../handlers/codec/sealer';
import { MusterError } from '../errors';

/**
 * Decodes texts whose comparison decides which tasks a bulk action is about: what is not decoded
 * would never match. Texts that the codec refuses stay without a match.
 *
 * @throws MusterError with code CODEC_FAILED if the codec does not work, or is not configured here.
 */
export const openCompared = async (sealer: Sealer | null, texts: readonly string[]): Promise<string[]> => {
  if (sealer?.sealsTexts !== true) {
    // Its step waits for a sweeper that has it.
    if (texts.some((text) => envelopesIn(text).some(isEnvelope)))
      throw failed('they are encoded, and no payloadCodec is configured here');
    return [...texts];
  }
  try {
    return await sealer.openTexts(texts, ({ away }) => away);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    throw failed(error.message, error);
  }
};

const failed = (why: string, cause?: CodecError): MusterError =>
  new MusterError(
    'CODEC_FAILED',
    `Cannot compare error texts: ${why}. Give this process a codec that works; a bulk action goes on by itself then.`,
    { cause },
  );
