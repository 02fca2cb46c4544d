import { z } from 'zod';
import { ERROR_SOURCES } from '../planning/errors/group';
import { batchId, count, time } from './fields';

const errorSource = z
  .enum(ERROR_SOURCES)
  .describe('unknown: parked; retrying: tried again by itself; callback: not delivered');

const errorGroup = z
  .object({
    handler: z.string().nullable().describe('Null: callbacks of fan-outs'),
    of: errorSource,
    text: z
      .string()
      .describe('What the errors have in common: numbers, ids, URLs, times and quoted texts are replaced'),
    count: count.describe('Tasks, or callbacks, of the rows that were looked at'),
    first: time,
    last: time,
    error: z.string().describe('The newest of them as it was written'),
    tasks: z.array(z.string()).describe('Some of the tasks, newest first'),
    batches: z.array(batchId).describe('Some of the batches, newest first'),
    callbacks: z.array(count).describe('Some of the callbacks, newest first'),
    list: z.string().describe('The command that lists them'),
    again: z.string().nullable().describe('The command that sends them again; null: it happens by itself'),
  })
  .meta({ id: 'ErrorGroup' });
export type ErrorGroupView = z.infer<typeof errorGroup>;

export const errorList = z
  .object({
    errors: z.array(errorGroup).describe('The most frequent first'),
    since: time,
    looked: count.describe('Rows that were read'),
    complete: z.boolean().describe('False: there are more since then, and only the newest rows were counted'),
  })
  .meta({ id: 'ErrorList' });
export type ErrorList = z.infer<typeof errorList>;
