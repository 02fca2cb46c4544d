import { createHash } from 'node:crypto';
import { orCodecFailure } from '../../client/codecFailure';
import { withFailureTexts } from '../../client/tasks/failureTexts';
import { openTexts } from '../../handlers/codec/openTexts';
import type { Sealer } from '../../handlers/codec/sealer';
import { withRetries } from '../../postgres/errors';
import type { KeyedRequest } from '../../postgres/api/idempotencyKey';
import { findKeptAnswer, keepAnswer, lockKey } from '../../postgres/api/idempotencyKey';
import type { Client as Transaction, Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import { ApiProblem, AGAIN_S } from './problem';

/** Checks a key: 1 to 255 printable characters. @throws ApiProblem */
export const checkKey = (key: string): string => {
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiProblem('invalid', 'Idempotency-Key: expected 1-255 printable ASCII characters without blanks.', {
      code: 'INVALID_REQUEST',
      errors: [{ field: 'Idempotency-Key', message: 'expected 1-255 printable ASCII characters without blanks' }],
    });
  return key;
};

export const requestHash = (url: string, body: Buffer | null): Buffer =>
  createHash('sha256')
    .update(url)
    .update('\n')
    .update(body ?? '')
    .digest();

/**
 * Returns a UUID (version 8: made by us) of a key: an effect that carries it is the same when it is
 * repeated.
 */
export const idOfKey = ({ caller, route, key }: KeyedRequest): string => {
  const hex = createHash('sha256').update(`muster\n${caller}\n${route}\n${key}`).digest('hex');
  const variant = ((Number.parseInt(hex[16]!, 16) & 3) | 8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
};

export interface KeyedAnswer {
  status: number;
  text: string;
  /** It was answered before; nothing was done now. */
  replayed: boolean;
}

/** An answer as its work made it. */
interface Made {
  status: number;
  text: string;
  /** It is to be kept, or the work may as well be done again. */
  isKept: boolean;
}

const KEYED = {
  none: 'Nothing was done.',
  unknown:
    'It is unknown whether it was done: repeat the request with the same Idempotency-Key; nothing is done twice.',
};

/**
 * Does the work of a request once for its key. The answer is kept in the transaction that `work`
 * gets, so what joins it is there iff the answer is; anything else that `work` does must be
 * harmless to repeat, because this process may die before the commit. A request holds its key's
 * lock in the store: the lock falls with the session. Only good answers are kept: a refusal has
 * changed nothing, and is judged anew, and so is work whose answer says that it need not be kept.
 */
export const once = (
  pool: Pool,
  keyed: KeyedRequest,
  work: (tx: Transaction) => Promise<Made>,
  sealer: Sealer | null,
): Promise<KeyedAnswer> =>
  withFailureTexts(KEYED, () =>
    withRetries(() =>
      inTransaction(pool, async (tx): Promise<KeyedAnswer> => {
        // An effect that does not join this transaction leaves it idle for as long as it takes.
        await tx.query(`set local idle_in_transaction_session_timeout = '120s'`);
        if (!(await lockKey(tx, keyed)))
          throw new ApiProblem(
            'key-in-flight',
            'A request with this Idempotency-Key is still in progress. Try again.',
            {
              retryAfterS: AGAIN_S,
            },
          );
        const kept = await findKeptAnswer(tx, keyed);
        if (kept === null) {
          const { isKept, ...answer } = await work(tx);
          if (isKept) {
            const text = sealer === null ? answer.text : await sealer.sealText(answer.text);
            await keepAnswer(tx, keyed, { status: answer.status, answer: text });
          }
          return { ...answer, replayed: false };
        }
        if (!kept.request.equals(keyed.request))
          throw new ApiProblem(
            'key-reused',
            'This Idempotency-Key was used for a request with another path or body. Nothing was done; use a separate key for each request.',
          );
        return { status: kept.status, text: await openAnswer(sealer, kept.answer), replayed: true };
      }),
    ),
  );

/** Decodes a kept answer. Throws `MusterError` with code CODEC_FAILED. */
const openAnswer = async (sealer: Sealer | null, kept: string): Promise<string> => {
  const [text] = await orCodecFailure(
    openTexts(sealer, [kept], () => true),
    (why) =>
      `Cannot read the answer to this Idempotency-Key: ${why}. ` +
      'The request was done before, and nothing was done now: repeat it once the codec works.',
  );
  return text!;
};
