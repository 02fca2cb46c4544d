import { ApplicationFailure, condition, setHandler, uuid4 } from '@temporalio/workflow';
import type { FanoutEnded } from './definitions';
import { fanoutEndedSignal } from './definitions';
import { musterActivities, orRefusal } from './musterActivities';
import { DEFAULT_PREFIX } from './naming';
import type { SegmentRange } from './planning/fanouts/segments';
import { itemIds, joinRanges } from './planning/fanouts/segments';

/**
 * Fan-outs for a user's own workflow (part of `muster/workflow`): open, add, seal, and wait for the
 * completion durably. The activities run in Muster's workers; the user's activities send the
 * messages with the ids, from ranges that are small however many items there are.
 */
export interface FanoutOptions {
  /** Returned with the completion; 1-1,024 bytes. */
  userKey?: string;
  /** Items per segment, 1-8,000; default 512. */
  segmentSize?: number;
  /** Prefix of the Muster installation, in the same namespace. Default `muster`. */
  prefix?: string;
}

/** Types of the `ApplicationFailure` that the functions here throw. */
export const FANOUT_FAILURE_TYPES = {
  invalid: 'MusterInvalidFanout',
  unreadable: 'MusterUnreadable',
  unknown: 'MusterUnknownFanout',
  /** An add after the seal. */
  sealed: 'MusterFanoutSealed',
  expired: 'MusterFanoutExpired',
  timeout: 'MusterTimeout',
} as const;

/** A message that was given up is found within the hour. */
const ASK_MS = 3_600_000;
/** Most items per activity: seconds of work. */
const ITEMS_PER_ACTIVITY = 10_000_000;

/** A fan-out within a workflow, made by `openFanout` or `fanoutHandle`. */
export class FanoutHandle {
  private ended: FanoutEnded | null = null;
  private unsure: boolean;

  /** @internal */
  constructor(
    readonly id: string,
    private readonly prefix: string,
    openedHere: boolean,
  ) {
    this.unsure = !openedHere;
    theInbox().expect(id, (ended) => (this.ended ??= ended));
  }

  /**
   * Adds items and returns their segments; `ids` expands them, best in an activity: a workflow
   * should not handle a million ids. A retried activity adds nothing twice. Throws
   * `MusterFanoutSealed` after the seal.
   */
  async add(items: number): Promise<SegmentRange[]> {
    const key = uuid4();
    const ranges: SegmentRange[] = [];
    for (let left = items, part = 0; left > 0 || part === 0; left -= ITEMS_PER_ACTIVITY, part++) {
      const n = Math.min(left, ITEMS_PER_ACTIVITY);
      const added = await orRefusal(
        activitiesOf(this.prefix).addFanoutItems({ id: this.id, items: n, key: `${key}/${part}` }),
      );
      for (const range of added) joinRanges(ranges, range);
    }
    return ranges;
  }

  /** Seals the fan-out: nothing can be added after this. True: all is acked already. */
  async seal(): Promise<boolean> {
    const { state } = await orRefusal(activitiesOf(this.prefix).sealFanout({ id: this.id }));
    return state === 'complete';
  }

  /**
   * Resolves when every item is acked and the fan-out is sealed; any number of days. Throws
   * `MusterFanoutExpired` when it was given up for lack of activity, and `MusterTimeout` after
   * `timeout` (ms; default: no limit): the fan-out goes on.
   */
  async completed({ timeout }: { timeout?: number } = {}): Promise<FanoutEnded> {
    const deadline = timeout === undefined ? Infinity : Date.now() + timeout;
    // Opened by an earlier run: its signal may have come to that one.
    if (this.unsure) await this.ask();
    this.unsure = false;
    let ended = this.now();
    for (; ended === null; ended = this.now()) {
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw failure('timeout', `fan-out ${this.id} is not complete after ${timeout} ms; it goes on`);
      const isTold = await condition(() => this.ended !== null, Math.min(leftMs, ASK_MS));
      if (!isTold && deadline - Date.now() > 0) await this.ask();
    }
    if (ended.type === 'fanout.expired')
      throw failure('expired', `fan-out ${this.id} had no activity for too long and was given up`);
    return ended;
  }

  /** Yields the ids of the items of these ranges, `fanoutId:segment:index`, one after the other. */
  ids(ranges: Iterable<SegmentRange>): Generator<string> {
    return itemIds(this.id, ranges);
  }

  /** Reads the end anew each time: signals change it while a function waits. */
  private now(): FanoutEnded | null {
    return this.ended;
  }

  private async ask(): Promise<void> {
    const answer = await orRefusal(activitiesOf(this.prefix).readFanoutEnd({ id: this.id }));
    this.ended ??= answer; // only now: the signal may have come while it was asked
  }
}

/**
 * Opens a fan-out whose completion is reported to this workflow (to its id, so that it may continue
 * as new while it waits).
 */
export const openFanout = async (options: FanoutOptions = {}): Promise<FanoutHandle> => {
  const { prefix = DEFAULT_PREFIX, ...opening } = options;
  const id = uuid4(); // from the workflow: a retried activity opens the same one
  const handle = new FanoutHandle(id, prefix, true);
  await orRefusal(activitiesOf(prefix).openFanout({ ...opening, id }));
  return handle;
};

/** Returns the handle of a fan-out that an earlier run of this workflow opened. */
export const fanoutHandle = (id: string, { prefix = DEFAULT_PREFIX }: { prefix?: string } = {}): FanoutHandle =>
  new FanoutHandle(id, prefix, false);

export { itemIds } from './planning/fanouts/segments';
export type { SegmentRange } from './planning/fanouts/segments';
export type { FanoutEnded } from './definitions';

type FanoutActivities = Pick<
  ReturnType<typeof musterActivities>,
  'openFanout' | 'addFanoutItems' | 'sealFanout' | 'readFanoutEnd'
>;

/** Each activity may be repeated; invalid input is not retried. */
const activitiesOf = (prefix: string): FanoutActivities => musterActivities(prefix, '5 minutes'); // ten million items of segments of one are the longest

const failure = (type: keyof typeof FANOUT_FAILURE_TYPES, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FANOUT_FAILURE_TYPES[type], message, nonRetryable: true });

/** One handler of the signal for all fan-outs of a workflow run. */
class Inbox {
  private readonly takers = new Map<string, (ended: FanoutEnded) => void>();

  constructor() {
    setHandler(fanoutEndedSignal, (ended) => this.takers.get(ended.fanout)?.(ended), {
      description: 'A fan-out opened by this workflow is complete, or was given up',
    });
  }
  expect(id: string, take: (ended: FanoutEnded) => void): void {
    this.takers.set(id, take);
  }
}

/**
 * Module state belongs to a workflow run: the SDK gives every run its own instances of the modules.
 */
let inbox: Inbox | undefined;
const theInbox = (): Inbox => (inbox ??= new Inbox());
