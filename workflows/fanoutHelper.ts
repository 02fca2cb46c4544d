import { ApplicationFailure, condition, setHandler, uuid4 } from '@temporalio/workflow';
import type { FanoutEnded } from './definitions';
import { fanoutEndedSignal } from './definitions';
import { musterActivities, orRefusal } from './musterActivities';
import { DEFAULT_PREFIX } from './naming';
import { some } from './planning/webUi/some';
import type { SegmentRange } from './planning/fanouts/segments';
import { itemIds, joinRanges } from './planning/fanouts/segments';

/**
 * Options of `openFanout`, by which a user's own workflow opens a fan-out, adds items, seals it,
 * and durably waits for its completion. The activities for that run in Muster's workers. The user's
 * own activities send out the ids, from ranges that are small however many items there are.
 */
export interface FanoutOptions {
  /**
   * The caller's name for the fan-out, returned with its completion: 1-1,024 bytes. Default: none.
   */
  userKey?: string;
  /** Items per segment, 1-8,000; default 512. */
  segmentSize?: number;
  /** Prefix of the Muster installation, in the same namespace. Default `muster`. */
  prefix?: string;
}

/** Types of the `ApplicationFailure` that the functions of this module throw. */
export const FANOUT_FAILURE_TYPES = {
  invalid: 'MusterInvalidFanout',
  unreadable: 'MusterUnreadable',
  unknown: 'MusterUnknownFanout',
  /** An add after the seal. */
  sealed: 'MusterFanoutSealed',
  expired: 'MusterFanoutExpired',
  timeout: 'MusterTimeout',
} as const;

/** Interval in milliseconds at which the end is polled, in case its message was given up. */
const ASK_MS = 3_600_000;
const WAITS = 'until the fan-out has ended';
/** Most items per activity, which takes seconds. */
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
   * Adds items and returns their segments. `ids` expands those into ids, best in an activity: a
   * workflow should not handle a million ids. A retried activity adds nothing twice. Throws
   * `MusterFanoutSealed` after the seal.
   */
  async add(items: number): Promise<SegmentRange[]> {
    const key = uuid4();
    const ranges: SegmentRange[] = [];
    for (let left = items, part = 0; left > 0 || part === 0; left -= ITEMS_PER_ACTIVITY, part++) {
      const n = Math.min(left, ITEMS_PER_ACTIVITY);
      const { addFanoutItems } = this.activities(`adds ${some(n, 'item')} to fan-out`);
      const added = await orRefusal(addFanoutItems({ id: this.id, items: n, key: `${key}/${part}` }));
      for (const range of added) joinRanges(ranges, range);
    }
    return ranges;
  }

  /**
   * Seals the fan-out, so that nothing can be added any more. Returns true if every item is acked
   * already.
   */
  async seal(): Promise<boolean> {
    const { state } = await orRefusal(this.activities('seals fan-out').sealFanout({ id: this.id }));
    return state === 'complete';
  }

  /**
   * Resolves when the fan-out is sealed and every item is acked, which may take any number of days.
   * Throws `MusterFanoutExpired` if the fan-out has expired for lack of activity, and
   * `MusterTimeout` after `timeout` milliseconds (default: no limit), while the fan-out continues.
   */
  async completed({ timeout }: { timeout?: number } = {}): Promise<FanoutEnded> {
    const deadline = timeout === undefined ? Infinity : Date.now() + timeout;
    // If an earlier run opened the fan-out, the signal of its end may have gone to that run.
    if (this.unsure) await this.ask();
    this.unsure = false;
    let ended = this.now();
    for (; ended === null; ended = this.now()) {
      const leftMs = deadline - Date.now();
      if (leftMs <= 0) throw failure('timeout', `fan-out ${this.id} is not complete after ${timeout} ms; it goes on`);
      const isTold = await condition(() => this.ended !== null, Math.min(leftMs, ASK_MS), { summary: WAITS });
      if (!isTold && deadline - Date.now() > 0) await this.ask();
    }
    if (ended.type === 'fanout.expired')
      throw failure('expired', `fan-out ${this.id} had no activity for too long and was given up`);
    return ended;
  }

  /** Yields the ids of the items in these ranges, `fanoutId:segment:index`, one after the other. */
  ids(ranges: Iterable<SegmentRange>): Generator<string> {
    return itemIds(this.id, ranges);
  }

  private activities(does: string): FanoutActivities {
    return activitiesOf(this.prefix, `${does} ${this.id}`);
  }

  /** Reads the end, which a signal may change while a function waits. */
  private now(): FanoutEnded | null {
    return this.ended;
  }

  private async ask(): Promise<void> {
    const { readFanoutEnd } = this.activities('asks for the end of fan-out');
    const answer = await orRefusal(readFanoutEnd({ id: this.id }));
    this.ended ??= answer; // assigned only now: the signal may have arrived meanwhile
  }
}

/**
 * Opens a fan-out whose completion is reported to this workflow, by its id, so that the workflow
 * may continue as new while it waits.
 */
export const openFanout = async (options: FanoutOptions = {}): Promise<FanoutHandle> => {
  const { prefix = DEFAULT_PREFIX, ...opening } = options;
  const id = uuid4(); // made by the workflow, so that a retried activity opens the same fan-out
  const handle = new FanoutHandle(id, prefix, true);
  await orRefusal(activitiesOf(prefix, `opens fan-out ${id}`).openFanout({ ...opening, id }));
  return handle;
};

/** Returns the handle of a fan-out that an earlier run of this workflow has opened. */
export const fanoutHandle = (id: string, { prefix = DEFAULT_PREFIX }: { prefix?: string } = {}): FanoutHandle =>
  new FanoutHandle(id, prefix, false);

export { itemIds } from './planning/fanouts/segments';
export type { SegmentRange } from './planning/fanouts/segments';
export type { FanoutEnded } from './definitions';

type FanoutActivities = Pick<
  ReturnType<typeof musterActivities>,
  'openFanout' | 'addFanoutItems' | 'sealFanout' | 'readFanoutEnd'
>;

/**
 * Returns the activities of this module, which may be repeated safely. Invalid input is not
 * retried.
 */
const activitiesOf = (prefix: string, summary: string): FanoutActivities =>
  musterActivities(prefix, '5 minutes', summary); // enough for ten million items in segments of one

const failure = (type: keyof typeof FANOUT_FAILURE_TYPES, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FANOUT_FAILURE_TYPES[type], message, nonRetryable: true });

/** The only handler of the signal, shared by all fan-outs of a workflow run. */
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
