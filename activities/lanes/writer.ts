import { withRetries } from '../../postgres/errors';
import type { AcceptedInLane } from '../../postgres/lanes/settleMany';
import { acceptInLanes, readyAllDependents, settleLanesSucceeded } from '../../postgres/lanes/settleMany';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { NewNotification, ResultPage } from '../../postgres/calls/records';
import { GroupWriter } from '../sharing/groupWriter';

/**
 * Result for a lane batch: written, the lanes that are ready now, and whether tasks waited for its.
 */
export interface LaneWritten {
  written: boolean;
  awaited: boolean;
  lanes: number[];
}

/** Every member of the batch succeeded. */
export interface Applied {
  id: number;
  attempt: number;
  pages: ResultPage[];
  notifications: NewNotification[];
}

/** Writes many batches whose members all succeeded, in one transaction. */
export const appliedWriter = (pool: Pool): GroupWriter<Applied, LaneWritten> =>
  new GroupWriter((group) =>
    withRetries(() =>
      inTransaction(pool, async (client) => {
        const done = await settleLanesSucceeded(
          client,
          group,
          group.flatMap(({ pages }) => pages),
          group.flatMap(({ notifications }) => notifications),
        );
        const settled = new Map(done.map((one) => [one.id, one]));
        const dependents = done.length === 0 ? [] : await readyAllDependents(client, [...settled.keys()]);
        return new Map(
          group.map(({ id }) => {
            const one = settled.get(id);
            if (one === undefined) return [id, MISSED];
            return [id, { written: true, awaited: one.awaited, lanes: [one.laneId, ...dependents] }];
          }),
        );
      }),
    ),
  );

const MISSED: LaneWritten = { written: false, awaited: false, lanes: [] };

/** Writes many batches that the downstream accepted and whose outcome it will report later. */
export const acceptedWriter = (pool: Pool): GroupWriter<AcceptedInLane, LaneWritten> =>
  new GroupWriter(async (group) => {
    if (!group.some(({ frees }) => frees))
      return written(group, await withRetries(() => acceptInLanes(pool, group)), []);
    return withRetries(() =>
      inTransaction(pool, async (client) => {
        const done = await acceptInLanes(client, group);
        const free = group.filter(({ id, frees }) => frees && done.has(id)).map(({ id }) => id);
        return written(group, done, free.length === 0 ? [] : await readyAllDependents(client, free));
      }),
    );
  });

const written = (
  group: readonly AcceptedInLane[],
  done: ReadonlySet<number>,
  lanes: number[],
): Map<number, LaneWritten> => new Map(group.map(({ id }) => [id, { ...MISSED, lanes, written: done.has(id) }]));
