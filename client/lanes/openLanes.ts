import type { LaneRowView, StateKeysRow } from '../../postgres/lanes/view';
import { readOpenFacts, readStateKeys } from '../../postgres/lanes/view';
import type { Pool } from '../../postgres/pool';
import { approachOf, windowOf } from '../../workflows/planning/lanes/approaches';
import { pendingLimitOf } from '../../workflows/planning/lanes/backPressure';
import { statusName } from '../../workflows/planning/lanes/statuses';
import type { Lane } from '../../workflows/planning/lanes/types';
import { APPROACHES, LANE_KINDS, ON_INVALID } from '../../workflows/planning/lanes/types';

/**
 * Reads lanes with their open batches for views, by parts: a batch may have half a megabyte of
 * state keys, a lane any number of batches, and a page a thousand lanes.
 */

/** By batch; without those that are too large. */
export type StateKeys = ReadonlyMap<number, Pick<StateKeysRow, 'reads' | 'writes'>>;
interface KeyedLane {
  lane: Lane;
  keys: StateKeys;
}

/** State keys in memory at once, in bytes. */
const KEYS_BYTES = 8_388_608;
/** Those of the batches before one that is explained. */
const COMPARED_BYTES = 1_048_576;
/** Open batches in memory at once: of several lanes, or of one that has more. */
const BATCHES_AT_ONCE = 1_024;

/** Makes a view of each lane, of which nothing else is kept. */
export const viewEach = async <T>(
  pool: Pool,
  rows: readonly LaneRowView[],
  view: (row: LaneRowView, lane: Lane) => T,
): Promise<T[]> => {
  const views: T[] = [];
  for (const group of groupsOf(rows)) {
    const lanes = await readOpen(pool, group);
    const compared = lanes.filter(comparesKeys);
    const keys = await readKeys(pool, compared.flatMap(idsOf), Math.floor(KEYS_BYTES / compared.length));
    for (const [i, row] of group.entries()) views.push(view(row, withKeys(lanes[i]!, keys)));
  }
  return views;
};

/** Reads one lane, with its open batches and without their keys. */
export const readLane = async (pool: Pool, row: LaneRowView, atLeast: number): Promise<Lane> =>
  (await readOpen(pool, [row], atLeast))[0]!;

/** Reads the keys of batches of a lane that are shown, and of those that are compared with them. */
export const addKeys = async (pool: Pool, lane: Lane, shown: readonly number[]): Promise<KeyedLane> => {
  const compared = comparesKeys(lane) ? idsOf(lane) : [];
  const keys = await readKeys(pool, [...new Set([...shown, ...compared])], KEYS_BYTES);
  return { lane: withKeys(lane, keys), keys };
};

/** Reads the keys of one batch; `isOpen`: those of others, too, as its explanation names them. */
export const addKeysOf = async (pool: Pool, lane: Lane, batchId: number, isOpen: boolean): Promise<KeyedLane> => {
  const own = await readKeys(pool, [batchId], KEYS_BYTES);
  const others = isOpen && explainsKeys(lane) ? idsOf(lane) : [];
  const keys = new Map([...(await readKeys(pool, others, COMPARED_BYTES)), ...own]);
  return { lane: withKeys(lane, keys), keys };
};

const idsOf = ({ open }: Lane): number[] => open.map(({ id }) => id);

/** Says whether it depends on keys which batches of the lane may go. */
const comparesKeys = (lane: Lane): boolean => approachOf(lane).approach.name === 'parallel';
/** Says whether an explanation names keys; of a serial lane, those by which others would wait. */
const explainsKeys = ({ approach, onInvalid }: Lane): boolean => approach !== 'unconstrained' && onInvalid !== 'halt';

const baseOf = (row: LaneRowView): Omit<Lane, 'open' | 'openMore'> => ({
  ...row,
  kind: nameOf(LANE_KINDS, row.kind),
  approach: nameOf(APPROACHES, row.approach),
  onInvalid: nameOf(ON_INVALID, row.onInvalid),
  pendingLimit: pendingLimitOf(row.pendingLimit),
});

/** Splits lanes into groups whose open batches are read at once. */
const groupsOf = (rows: readonly LaneRowView[]): LaneRowView[][] => {
  const groups: LaneRowView[][] = [];
  let left = 0;
  for (const row of rows) {
    const batches = windowOf(baseOf(row)) + 1;
    if (batches > left) {
      groups.push([]);
      left = BATCHES_AT_ONCE;
    }
    groups.at(-1)!.push(row);
    left -= batches;
  }
  return groups;
};

/** Reads the open batches of lanes as the queuer would see them now, without locks or keys. */
const readOpen = async (pool: Pool, rows: readonly LaneRowView[], atLeast = 1): Promise<Lane[]> => {
  const bases = rows.map(baseOf);
  const windows = bases.map((base) => Math.max(windowOf(base), atLeast));
  const open = await readOpenFacts(
    pool,
    rows.map(({ id }) => id),
    windows.map((n) => n + 1),
  );
  return bases.map((base, i): Lane => {
    const ofLane = open.filter(({ laneId }) => laneId === base.id);
    const queued = ofLane.slice(0, windows[i]).map((batch) => ({
      ...batch,
      sequence: batch.seq,
      part: 0,
      status: statusName(batch.status),
      reads: [],
      writes: [],
    }));
    return { ...base, open: queued, openMore: ofLane.length > windows[i]! };
  });
};

const readKeys = async (pool: Pool, batchIds: readonly number[], maxBytes: number): Promise<StateKeys> => {
  const rows = batchIds.length === 0 ? [] : await readStateKeys(pool, batchIds, maxBytes);
  return new Map(rows.map(({ batchId, ...keys }) => [batchId, keys]));
};

const withKeys = (lane: Lane, keys: StateKeys): Lane => ({
  ...lane,
  open: lane.open.map((batch) => ({ ...batch, ...(keys.get(batch.id) ?? { keysUnread: true as const }) })),
});

export const nameOf = <T extends string>(names: Readonly<Record<T, number>>, code: number): T => {
  const found = (Object.entries(names) as [T, number][]).find(([, number]) => number === code);
  if (found === undefined) throw new Error(`expected one of ${Object.values(names).join(', ')}, got ${code}`);
  return found[0];
};
