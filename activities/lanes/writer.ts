import { withRetries } from '../../postgres/errors';
import type { AcceptedInLane } from '../../postgres/lanes/settleMany';
import { acceptInLanes, readyAllDependents, settleLanesSucceeded } from '../../postgres/lanes/settleMany';
import type { Pool } from '../../postgres/pool';
import { inTransaction } from '../../postgres/pool';
import type { Notice, ResultPage } from '../../postgres/calls/records';
import { Gatherer } from '../calls/groupCommit';

/** Of a batch in a lane: written, and the lanes that are worth a look now. */
export interface LaneWritten {
  written: boolean;
  lanes: number[];
}

interface Applied {
  id: number;
  attempt: number;
  pages: ResultPage[];
  notices: Notice[];
}

interface Waiting<T> {
  one: T;
  resolve: (written: LaneWritten) => void;
  reject: (error: unknown) => void;
}

/** Bounds one statement's text. */
const MOST_BATCHES = 200;

/**
 * Writes the plain answers of a process's lanes, applied or accepted, many in one transaction:
 * while some are on their way the next ones gather and share the following one. A lone batch waits
 * for nobody.
 */
class LaneWriter {
  readonly applied = this.gather<Applied>((group) => this.settle(group));
  readonly accepted = this.gather<AcceptedInLane>(async (group) => {
    const done = await withRetries(() => acceptInLanes(this.pool, group));
    return new Map(group.map(({ id }) => [id, { written: done.has(id), lanes: [] }]));
  });

  constructor(private readonly pool: Pool) {}

  private gather<T extends { id: number }>(
    write: (group: T[]) => Promise<ReadonlyMap<number, LaneWritten>>,
  ): Gatherer<Waiting<T>> {
    const run = async (group: Waiting<T>[]): Promise<void> => {
      const written = await write(group.map(({ one }) => one));
      for (const { one, resolve } of group) resolve(written.get(one.id)!);
    };
    return new Gatherer<Waiting<T>>(
      MOST_BATCHES,
      ({ one }) => [one.id],
      async (group) => {
        try {
          await run(group);
        } catch (error) {
          // Whatever is wrong with one of them is not the others' fault.
          if (group.length === 1) group[0]!.reject(error);
          else for (const one of group) await run([one]).catch(one.reject);
        }
      },
    );
  }

  private settle(group: readonly Applied[]): Promise<ReadonlyMap<number, LaneWritten>> {
    return withRetries(() =>
      inTransaction(this.pool, async (client) => {
        const done = await settleLanesSucceeded(
          client,
          group,
          group.flatMap(({ pages }) => pages),
          group.flatMap(({ notices }) => notices),
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
    );
  }
}
const MISSED: LaneWritten = { written: false, lanes: [] };

const writers = new WeakMap<Pool, LaneWriter>();
const writerOf = (pool: Pool): LaneWriter => {
  let writer = writers.get(pool);
  if (writer === undefined) writers.set(pool, (writer = new LaneWriter(pool)));
  return writer;
};

/** Every member of the batch succeeded. */
export const writeApplied = (pool: Pool, one: Applied): Promise<LaneWritten> =>
  new Promise((resolve, reject) => writerOf(pool).applied.add({ one, resolve, reject }));

/** The downstream accepted the batch and will say later what became of it. */
export const writeAccepted = (pool: Pool, one: AcceptedInLane): Promise<LaneWritten> =>
  new Promise((resolve, reject) => writerOf(pool).accepted.add({ one, resolve, reject }));
