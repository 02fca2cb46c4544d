import type { Break, Refusal, Shape, Verdict, Wire } from './trial';

/** What the fake downstream does with one call. Left out: it applies it and answers well. */
export interface Turn {
  /** Refuses the call as a whole. */
  readonly refuse?: Refusal;
  /** Headers that a refusal has besides its own. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What becomes of each item; default `ok`. Only what is `ok` or `omitted` is applied. */
  readonly items?: (mark: string) => Verdict;
  readonly shape?: Shape;
  /** Spoils the answer to a call that is `applied`, or that is not. */
  readonly breaks?: { readonly how: Break; readonly applied: boolean };
  /** Spoils the results of an accepted call; where results come at once, the answer itself. */
  readonly breaksResults?: Break;
  /** Milliseconds before the answer. */
  readonly delayMs?: number;
}

/** Decides what the fake does with a call, by its number from 0 and the marks in it. */
export type Script = (call: number, marks: readonly string[], wire: Wire) => Turn;

/** Returns a script of one turn per call; after the last the fake is well. */
export const inTurn =
  (...turns: readonly Turn[]): Script =>
  (call) =>
    turns[call] ?? {};
