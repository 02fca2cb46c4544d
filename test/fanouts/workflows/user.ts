import { continueAsNew, proxyActivities } from '@temporalio/workflow';
import type { FanoutEnded, FanoutOptions, SegmentRange } from '../../../workflows/helper';
import { fanoutHandle, openFanout } from '../../../workflows/helper';

/** Workflows as a user of `temporal-muster/workflow` writes them. */

/** The user's own: sends a message an item to some queue, whose consumers ack. */
export interface UserActivities {
  sendMessages(fanout: string, ranges: SegmentRange[]): Promise<void>;
}
const { sendMessages } = proxyActivities<UserActivities>({ startToCloseTimeout: '1 minute' });

export interface Told {
  end: FanoutEnded;
  ranges: SegmentRange[];
  completeAtSeal: boolean;
}

/** The whole story: open, add, send, seal, go on when all is acked. */
export const fanOut = async (adds: number[], options: FanoutOptions & { timeout?: number }): Promise<Told> => {
  const { timeout, ...opening } = options;
  const fanout = await openFanout(opening);
  const ranges: SegmentRange[] = [];
  for (const items of adds) {
    const added = await fanout.add(items);
    await sendMessages(fanout.id, added);
    ranges.push(...added);
  }
  const completeAtSeal = await fanout.seal();
  const end = await fanout.completed(timeout === undefined ? {} : { timeout });
  return { end, ranges, completeAtSeal };
};

export const addAfterSeal = async (options: FanoutOptions): Promise<unknown> => {
  const fanout = await openFanout(options);
  await fanout.seal();
  return fanout.add(1);
};

/** Continues as new while the items are on their way; the signal may come to either run. */
export const continued = async (options: FanoutOptions, id?: string): Promise<FanoutEnded> => {
  if (id !== undefined) return fanoutHandle(id, options).completed();
  const fanout = await openFanout(options);
  const ranges = await fanout.add(10);
  await fanout.seal();
  await sendMessages(fanout.id, ranges);
  return continueAsNew<typeof continued>(options, fanout.id);
};

/** Two at once, each with its own end. */
export const sideBySide = async (options: FanoutOptions): Promise<(string | null)[]> => {
  const ends = await Promise.all(['a', 'b'].map((userKey) => fanOut([20], { ...options, userKey })));
  return ends.map(({ end }) => end.userKey);
};
