import type { TurnAnswer } from '../../../workflows/contracts';
import type { Statement } from '../../chaos/tap';
import type { Variant } from './leaderRun';
import type { World } from './world';

export type Party = 'client' | 'leader' | 'submission';

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
  turn?(world: World, take: () => Promise<TurnAnswer>): Promise<TurnAnswer>;
}

/** A process died here. */
export class Death extends Error {}
