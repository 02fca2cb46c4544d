import { z } from 'zod';
import { NAME_MAX, URL_MAX, WEB } from '../planning/callbacks/address';
import { SERVICE_BYTES_MAX } from '../planning/lanes/limits';
import { PAGE_MAX } from '../planning/pages';
import { TAG_BYTES_MAX } from '../planning/tags';

/** Fields that the contracts of the client library, the command line and the HTTP API share. */

/** Returns the keys of a table of states as a zod enum. */
export const namesOf = <T extends Record<string, unknown>>(table: T) =>
  z.enum(Object.keys(table) as [keyof T & string, ...(keyof T & string)[]]);

export const time = z.string().describe('ISO time, such as 2030-01-31T12:00:00.000Z').meta({ format: 'date-time' });
export const ms = z.number().describe("Milliseconds by the database's clock");
export const count = z.number().int().min(0);
export const batchId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Number of a batch');

/** Matches text without NUL, which Postgres cannot store. */
const STORABLE = '^[^\\u0000]*$';
export const plainName = (max: number) =>
  z.string().min(1).max(max).regex(new RegExp(STORABLE), 'expected text without NUL');

export const handlerName = plainName(64).describe('A handler of the config file');
export const taskId = plainName(256).describe('Your unique id: the same id with the same content is the same task');
export const targetKey = plainName(512).describe('Batch key, computed by the handler from the payload');
export const service = plainName(SERVICE_BYTES_MAX).describe(
  'Service whose batches are sent in order; its queue is a lane',
);
export const sharedLimitName = plainName(64).describe('A limit that handlers share');
export const reason = z.string().max(1_000).describe('Reason shown by status, targets and explain');
export const pageLimit = (fallback: number, max = PAGE_MAX) =>
  z.number().int().min(1).max(max).default(fallback).describe(`Entries per page, at most ${max}`);

export const nextPage = z
  .string()
  .nullable()
  .describe('Pass it as `after` to get the next page, also where this one is not full; null on the last page');
/** The `next` of the page before, where a page begins. */
export const afterPage = z.string().max(4_000).optional().describe('`next` of the page before');
export const taskTag = plainName(TAG_BYTES_MAX).describe('A tag that tasks were submitted with');
export const errorPart = z.string().min(1).max(1_000).optional();

/**
 * The receiver of a callback: a signed webhook, if `callbacks.allow` of the workers allows its
 * host, or a workflow that gets a signal.
 */
export const callback = z
  .union([
    z.strictObject({
      url: z.string().max(URL_MAX).regex(WEB).describe('Receives a signed POST'),
    }),
    z.strictObject({
      workflowId: plainName(NAME_MAX),
      runId: plainName(NAME_MAX).optional(),
      signal: plainName(NAME_MAX).optional(),
    }),
  ])
  .describe('Receives the notification of its end')
  .meta({ id: 'Callback' });

export const paused = z.object({ since: time, reason: z.string().nullable() }).nullable().describe('Null: not paused');
