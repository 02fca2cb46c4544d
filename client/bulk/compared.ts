import { openTexts } from '../../handlers/codec/openTexts';
import type { Sealer } from '../../handlers/codec/sealer';
import { orCodecFailure } from '../codecFailure';

/**
 * Decodes texts whose comparison decides which tasks a bulk action is about: what is not decoded
 * would never match. Texts that the codec refuses stay without a match.
 *
 * @throws MusterError with code CODEC_FAILED if the codec does not work, or is not configured here:
 *   its step waits for a sweeper that has it.
 */
export const openCompared = (sealer: Sealer | null, texts: readonly string[]): Promise<string[]> =>
  orCodecFailure(
    openTexts(sealer, texts, ({ away }) => away),
    (why) =>
      `Cannot compare error texts: ${why}. Give this process a codec that works; a bulk action goes on by itself then.`,
  );
