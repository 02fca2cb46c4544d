import type { TurnAnswer } from '../../../workflows/messages';
import type { Statement } from '../../chaos/judge/tap';
import type { Variant } from './leaderRun';

export type Party = 'client' | 'leader' | 'dispatch';

/** What a test leaves out, or does wrong, on purpose. */
export interface Breakage {
  /** Statements answered with these rows, not run. */
  skip?: Partial<Record<Party, Record<string, readonly object[]>>>;
  rewrite?: (name: string, text: string) => string;
  seen?: (name: string, rows: readonly object[]) => readonly object[];
  leader?: Variant;
  /** The sweeper's look at expired leaders is left out. */
  noExpiry?: boolean;
}

/** Where chance strikes; each may delay or throw. */
export interface Fate {
  before?(party: Party, statement: Statement): Promise<void>;
  after?(party: Party, statement: Statement): Promise<void>;
  /** May throw: the wake is lost. */
  wake?(leaderId: number): Promise<void>;
  /** `during` counts other work as the world's own, so that nobody takes it for asleep. */
  turn?(
    world: { during: (work: () => Promise<unknown>) => Promise<unknown> },
    take: () => Promise<TurnAnswer>,
  ): Promise<TurnAnswer>;
}
