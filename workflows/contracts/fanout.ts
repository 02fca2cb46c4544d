import { z } from 'zod';
import { DEFAULT_SEGMENT_SIZE, MAX_ACK_IDS, MAX_ADD_ITEMS } from '../planning/fanouts/segments';
import { MAX_SEGMENT_SIZE, FANOUT_ID } from '../planning/fanouts/itemId';
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
    openSegments: count.describe('Segments with an item that is not acked'),
    open: count
      .nullable()
      .describe(
        'Items not acked, counted; null: more than 10 MB would have to be read for it, and exact was not asked for',
      ),
    segmentSize: count,
    openedAt: time,
    activeAt: time.describe('Of the last add, ack or seal, to a minute'),
    sealedAt: time.nullable(),
    completedAt: time.nullable(),
    expiredAt: time.nullable(),
  })
  .meta({ id: 'Fanout' });
export type FanoutView = z.infer<typeof fanoutView>;

export const fanoutOpening = z
  .strictObject({
    userKey: plainName(1_024).optional().describe('Your own name for it; comes back with its completion'),
    segmentSize: z
      .number()
      .int()
      .min(1)
      .max(MAX_SEGMENT_SIZE)
      .optional()
      .describe(`Items a segment holds; default ${DEFAULT_SEGMENT_SIZE}`),
    notify: callback.optional(),
    id: fanoutId.optional().describe('Yours: opening again with the same is the same fan-out. Default: a new one'),
  })
  .meta({ id: 'FanoutOpening' });

export const fanoutAdd = z
  .strictObject({
    items: z
      .number()
      .int()
      .min(1)
      .max(MAX_ADD_ITEMS)
      .describe('How many more; for still more, several calls, each with a key'),
    key: plainName(200).optional().describe('An add that is repeated with the same key and number adds nothing more'),
  })
  .meta({ id: 'FanoutAdd' });

const segmentRange = z
  .object({
    first: count.describe('Number of its first segment'),
    items: count,
    segmentSize: count.describe('Of every segment but the last, which has the rest'),
  })
  .meta({ id: 'SegmentRange' });

export const addedItems = z
  .object({
    fanout: fanoutId,
    items: count,
    ranges: z
      .array(segmentRange)
      .describe('Of constant size, however many items: ids are made from it, fanout:segment:index, index from 0'),
  })
  .meta({ id: 'AddedItems' });

const completedFanout = z
  .object({ id: fanoutId, userKey: z.string().nullable(), items: count, completedAt: time })
  .describe('Completed by this very call')
  .meta({ id: 'CompletedFanout' });
export type CompletedFanout = z.infer<typeof completedFanout>;

export const sealAnswer = z
  .object({ state: z.enum(['sealed', 'complete']), items: count, completed: completedFanout.nullable() })
  .meta({ id: 'SealAnswer' });

export const itemIds = z
  .strictObject({ items: z.array(itemId).min(1).max(MAX_ACK_IDS).describe('Of any fan-outs, in any order') })
  .meta({ id: 'ItemIds' });

export const ackAnswer = z
  .object({
    items: count.describe('Different items of the call'),
    acked: count.describe('Those that were not acked before'),
    completed: z.array(completedFanout).describe('Fan-outs that this call completed: exactly one call returns each'),
  })
  .meta({ id: 'AckAnswer' });
export type AckAnswer = z.infer<typeof ackAnswer>;

const idleMs = z.number().int().min(0).max(3_153_600_000_000).optional();
export const fanoutReap = z
  .strictObject({
    openIdleMs: idleMs.describe('Open ones without activity for so many ms expire; left out: none does'),
    sealedIdleMs: idleMs.describe('Sealed, unfinished ones likewise'),
    keepEndedMs: idleMs.describe('Complete and expired ones are deleted so long after their end; left out: none is'),
  })
  .meta({ id: 'FanoutReap' });

export const reapCounts = z
  .object({
    expiredOpen: count,
    expiredSealed: count,
    items: count.describe('In the fan-outs that expired'),
    told: count.describe('Events written'),
    deletedSegments: count,
    deletedFanouts: count,
  })
  .meta({ id: 'ReapCounts' });
export type ReapCounts = z.infer<typeof reapCounts>;
