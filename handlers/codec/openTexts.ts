import { CodecError, NO_CODEC } from './codecError';
import { envelopesIn, isEnvelope } from './envelope';
import type { Sealer } from './sealer';

/**
 * Decodes texts on which something depends, so that none may stay encoded for want of a codec.
 *
 * @throws CodecError for which `isThrown` holds, as one that is away where no codec is configured;
 *   a text of another error says so in its place.
 */
export const openTexts = async (
  sealer: Sealer | null,
  texts: readonly string[],
  isThrown: (error: CodecError) => boolean,
): Promise<string[]> => {
  if (sealer?.sealsTexts === true) return sealer.openTexts(texts, isThrown);
  if (texts.some((text) => envelopesIn(text).some(isEnvelope))) throw new CodecError(NO_CODEC, true);
  return [...texts];
};
