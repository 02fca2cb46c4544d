import type { Client as TemporalClient } from '@temporalio/client';
import type { Sealer } from '../handlers/codec/sealer';
import type { Contract } from '../handlers/types';
import type { OutcomesTold } from '../activities/outcomes/told';
import type { Pool } from '../postgres/pool';
import type { Requests } from '../workflows/temporal/requests';
import type { Act } from './operations/auditLog';
import type { FailureTexts } from './tasks/failureTexts';

/** What the verbs need from a client. The classes `Client` and `Connection` implement it. */
export interface ClientContext {
  readonly pool: Pool;
  readonly prefix: string;
  /** What encodes the values of callers; null: nothing does. */
  readonly sealer: Sealer | null;
  /** Is told of ends that this client records, other than those that its caller asks for. */
  readonly told?: OutcomesTold | undefined;
  /** Makes a change that the audit shows, and says what became of it if it fails. */
  change<T>(texts: FailureTexts, act: Act, work: () => Promise<T>): Promise<T>;
  /** Checks the schema's version once. */
  ready(): Promise<void>;
  /** Wakes the leaders of these targets; never throws. */
  ring(targetIds: Iterable<number>): Promise<void>;
  /** Releases or fails tasks whose dependencies have ended, and rings; never throws. */
  releaseDependents(): Promise<void>;
  /** Wakes the queuers of these lanes; never throws. */
  ringLaneIds(laneIds: Iterable<number>): Promise<void>;
  /**
   * Returns the Temporal client, for queries about runs whose caller limits the wait. Wakes go
   * through `wake`.
   */
  temporal(): Promise<TemporalClient>;
  /**
   * Sends wakes after a commit. Never throws, and waits half a second at most: the sweeper repeats
   * a wake that does not arrive.
   */
  wake(send: (requests: Requests) => Promise<Error | null>): Promise<void>;
  /**
   * Reports a wake that did not arrive. No verb fails because of it, since the sweeper repeats it.
   */
  wakeFailed(error: Error): void;
}

/** A client that knows contracts, by name. */
export interface KnowingContext extends ClientContext {
  readonly handlers: ReadonlyMap<string, Contract>;
}

export { NODE_LIVE_MS } from '../postgres/nodes/node';

/** Most ids per statement, so that it takes milliseconds and its transaction is short. */
export const IDS_PER_STATEMENT = 1_000;

export const chunksOf = <T>(items: readonly T[], size: number): T[][] => {
  const chunks: T[][] = [];
  for (let i = 0; i < items.length; i += size) chunks.push(items.slice(i, i + size));
  return chunks;
};
