import { z } from 'zod';
import { DEFAULT_SEGMENT_SIZE, MAX_ACK_IDS, MAX_ADD_ITEMS } from '../planning/fanouts/segments';
import { CHOSEN_FANOUT_ID, MAX_SEGMENT_SIZE, FANOUT_ID } from '../planning/fanouts/itemId';
import { callback, count, plainName, time } from './fields';

export const fanoutId = z.string().regex(FANOUT_ID, 'expected a UUID in lower case').describe('A UUID in lower case');
const itemId = z.string().min(1).max(200).describe('fanoutId:segment:index');

export const fanoutView = z
  .object({
    id: fanoutId,
    userKey: z.string().nullable(),
    state: z.enum(['open', 'sealed', 'complete', 'expired']),
    items: count,
    segments: count,
    openSegments: count.describe('Segments with at least one unacked item'),
    open: count
      .nullable()
      .describe('Number of unacked items; null: counting would read more than 10 MB, and exact was not set'),
    segmentSize: count,
    openedAt: time,
    activeAt: time.describe('Time of the last add, ack or seal, accurate to a minute'),
    sealedAt: time.nullable(),
    completedAt: time.nullable(),
    expiredAt: time.nullable(),
  })
  .meta({ id: 'Fanout' });
export type FanoutView = z.infer<typeof fanoutView>;

const chosenId = z
  .string()
  .regex(CHOSEN_FANOUT_ID, 'expected a UUID in lower case that is not of version 8')
  .describe('Your own id, of any version but 8: opening it again returns the same fan-out. Default: a new id');
export const fanoutOpening = z
  .strictObject({
    userKey: plainName(1_024).optional().describe('Your name for the fan-out, returned with its completion'),
    segmentSize: z
      .number()
      .int()
      .min(1)
      .max(MAX_SEGMENT_SIZE)
      .optional()
      .describe(`Items per segment; default ${DEFAULT_SEGMENT_SIZE}`),
    notify: callback.optional(),
    id: chosenId.optional(),
  })
  .meta({ id: 'FanoutOpening' });

export const fanoutAdd = z
  .strictObject({
    items: z
      .number()
      .int()
      .min(1)
      .max(MAX_ADD_ITEMS)
      .describe('Number of items to add; for more, make several calls, each with its own key'),
    key: plainName(200).optional().describe('Repeating an add with the same key and number adds nothing'),
  })
  .meta({ id: 'FanoutAdd' });

const segmentRange = z
  .object({
    first: count.describe('Number of the first segment'),
    items: count,
    segmentSize: count.describe('Size of every segment except the last, which has the rest'),
  })
  .meta({ id: 'SegmentRange' });

export const addedItems = z
  .object({
    fanout: fanoutId,
    items: count,
    ranges: z
      .array(segmentRange)
      .describe('Constant in size, however many items: an id is fanout:segment:index, with index from 0'),
  })
  .meta({ id: 'AddedItems' });

const completedFanout = z
  .object({ id: fanoutId, userKey: z.string().nullable(), items: count, completedAt: time })
  .describe('A fan-out that this call completed')
  .meta({ id: 'CompletedFanout' });
export type CompletedFanout = z.infer<typeof completedFanout>;

export const sealAnswer = z
  .object({ state: z.enum(['sealed', 'complete']), items: count, completed: completedFanout.nullable() })
  .meta({ id: 'SealAnswer' });

export const itemIds = z
  .strictObject({
    items: z.array(itemId).min(1).max(MAX_ACK_IDS).describe('Items of one or more fan-outs, in any order'),
  })
  .meta({ id: 'ItemIds' });

export const ackAnswer = z
  .object({
    items: count.describe('Number of different items in the call'),
    acked: count.describe('Number of items that were not acked before'),
    completed: z
      .array(completedFanout)
      .describe('Fan-outs that this call completed; each is returned by exactly one call'),
  })
  .meta({ id: 'AckAnswer' });
export type AckAnswer = z.infer<typeof ackAnswer>;

const idleMs = z.number().int().min(0).max(3_153_600_000_000).optional();
export const fanoutReap = z
  .strictObject({
    openIdleMs: idleMs.describe('Expire open fan-outs that were idle for this many ms; default: none'),
    sealedIdleMs: idleMs.describe('Expire sealed, unfinished fan-outs that were idle for this many ms; default: none'),
    keepEndedMs: idleMs.describe('Delete complete and expired fan-outs this many ms after their end; default: none'),
  })
  .meta({ id: 'FanoutReap' });

export const reapCounts = z
  .object({
    expiredOpen: count,
    expiredSealed: count,
    items: count.describe('Number of items in the fan-outs that expired'),
    told: count.describe('Number of events written'),
    deletedSegments: count,
    deletedFanouts: count,
  })
  .meta({ id: 'ReapCounts' });
export type ReapCounts = z.infer<typeof reapCounts>;
