import { withRetries } from '../../postgres/errors';
import type { AcceptedInLane } from '../../postgres/lanes/settleMany';
import { acceptInLanes, readyAllDependents, settleLanesSucceeded } from '../../postgres/lanes/settleMany';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { NewNotification, ResultPage } from '../../postgres/calls/records';
import { GroupWriter } from '../sharing/groupWriter';

/** Result for a lane batch: written, and the lanes that are ready now. */
export interface LaneWritten {
  written: boolean;
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
        const laneOf = new Map(done.map(({ id, laneId }) => [id, laneId]));
        const dependents = done.length === 0 ? [] : await readyAllDependents(client, [...laneOf.keys()]);
        return new Map(
          group.map(({ id }) => {
            const laneId = laneOf.get(id);
            return [id, laneId === undefined ? MISSED : { written: true, lanes: [laneId, ...dependents] }];
          }),
        );
      }),
    ),
  );

const MISSED: LaneWritten = { written: false, lanes: [] };

/** Writes many batches that the downstream accepted and whose outcome it will report later. */
export const acceptedWriter = (pool: Pool): GroupWriter<AcceptedInLane, LaneWritten> =>
  new GroupWriter(async (group) => {
    const done = await withRetries(() => acceptInLanes(pool, group));
    return new Map(group.map(({ id }): [number, LaneWritten] => [id, { written: done.has(id), lanes: [] }]));
  });
