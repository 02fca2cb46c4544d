import * as batches from '../../../postgres/listing/batches';
import * as waiting from '../../../postgres/listing/waiting';
import type { EndedScope } from '../../../postgres/listing/ended';
import type { Listed, ListScope } from '../../../postgres/listing/waiting';
import { inOrder } from '../../../postgres/listing/inOrder';
import type { Pool, Queryable } from '../../../postgres/pool';
import type { TaskState } from '../../../workflows/planning/states';
import { ENDED_FIRST, readEnded } from './ended';
import type { EndedPlace } from './ended';
import type { Part } from './part';

/** Where a list stands: values of the columns of an index, which the next page begins after. */
export type Place = readonly (string | number)[];

/** Of which tasks; `state` null: in any. */
export type SourceScope = Omit<EndedScope, 'state'> & { state: number | null };

/** One of the tables in which tasks of a state are found. */
export interface Source {
  name: string;
  first: Place;
  read(pool: Pool, scope: SourceScope, after: Place, limit: number): Promise<Part<Place>>;
}

const source = <P extends Place>(
  name: string,
  first: P,
  read: (db: Queryable, scope: ListScope, after: P, limit: number) => Promise<Listed<P>[]>,
): Source => ({
  name,
  first,
  read: async (pool, scope, after, limit) => {
    const rows = await inOrder(pool, (client) => read(client, scope, after as P, limit));
    const candidates = rows.map(({ seq, batchId }) => ({ seq, batchId, isOwnEnd: null }));
    return { candidates, next: rows.length < limit ? null : rows.at(-1)!.place };
  },
});

const queued = source('queued', waiting.QUEUED_FIRST, waiting.listQueued);
const delayed = source('delayed', waiting.DELAYED_FIRST, waiting.listDelayed);
const held = source('held', waiting.HELD_FIRST, waiting.listHeld);
const laneTasks = source('lane-tasks', waiting.LANE_TASKS_FIRST, waiting.listLaneTasks);
const laneBatches = source('lane-batches', batches.LANE_BATCHES_FIRST, batches.listLaneBatches);
const open = source('open', batches.BATCHES_FIRST, batches.listOpen);
const parked = source('parked', batches.BATCHES_FIRST, batches.listParked);
const ended: Source = {
  name: 'ended',
  first: ENDED_FIRST,
  read: (pool, scope, after, limit) => readEnded(pool, { ...scope, state: scope.state! }, after as EndedPlace, limit),
};

/** The tables that tasks of a state are in, in the order in which they are listed. */
export const SOURCES: Readonly<Record<TaskState, readonly Source[]>> = {
  created: [queued, delayed, held, laneTasks, laneBatches],
  batched: [open, laneBatches],
  'in-progress': [open, laneBatches],
  unknown: [parked, laneBatches],
  succeeded: [ended],
  failed: [ended],
  dead: [ended],
  cancelled: [ended],
};
