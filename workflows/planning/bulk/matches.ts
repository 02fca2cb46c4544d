import { normaliseError } from '../errors/normalise';

/** What a task must be like besides its handler, target and state; undefined: anything. */
export interface Criteria {
  /** A part of its error. */
  error?: string | undefined;
  /** A word of its error, such as 503. */
  errorCode?: string | undefined;
  /** What its error has in common with others (`normaliseError`). */
  errorGroup?: string | undefined;
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
}

/** What decides of a task: its error, and when it ended or, before that, was accepted. */
export interface Matched {
  error: string;
  atMs: number;
}

export const matches = (criteria: Criteria, { error, atMs }: Matched): boolean =>
  (criteria.error === undefined || error.includes(criteria.error)) &&
  (criteria.errorCode === undefined || hasWord(error, criteria.errorCode)) &&
  (criteria.errorGroup === undefined || normaliseError(error) === criteria.errorGroup) &&
  (criteria.sinceMs === undefined || atMs >= criteria.sinceMs) &&
  (criteria.untilMs === undefined || atMs < criteria.untilMs);

/** Says whether errors must be read to decide. */
export const needsErrors = ({ error, errorCode, errorGroup }: Criteria): boolean =>
  (error ?? errorCode ?? errorGroup) !== undefined;

const WORD = /[\p{L}\p{N}_]/u;

/** Says whether the word stands in a text, not as a part of a longer one. */
export const hasWord = (text: string, word: string): boolean => {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    const end = at + word.length;
    const isCut = (at > 0 && WORD.test(text[at - 1]!)) || (end < text.length && WORD.test(text[end]!));
    if (!isCut) return true;
  }
  return false;
};
