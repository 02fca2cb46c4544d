import { z } from 'zod';
import { CALLBACK_STATES } from '../planning/callbacks/undelivered';
import { PAGE_MAX } from '../planning/pages';
import { batchId, count, handlerName, nextPage, time } from './fields';

export const callbackId = z.number().int().min(1).max(Number.MAX_SAFE_INTEGER).describe('Number of a callback');
export const callbackState = z
  .enum(CALLBACK_STATES)
  .describe('retrying: it is tried again by itself; given-up: it is not');

const undeliveredCallback = z
  .object({
    id: callbackId,
    message: z.string().describe('Id of the message, which its receiver gets with each try (`webhook-id`)'),
    state: callbackState,
    handler: z.string().nullable().describe('Null: of a fan-out'),
    batch: batchId.nullable(),
    fanout: z.string().nullable(),
    to: z
      .union([
        z.object({ url: z.string().describe('Without its query') }),
        z.object({ workflowId: z.string(), runId: z.string().optional(), signal: z.string().optional() }),
      ])
      .describe('Its receiver'),
    attempts: count,
    error: z.string(),
    createdAt: time.nullable(),
    nextAt: time.nullable().describe('When it is tried again; null: never'),
    endedAt: time.nullable().describe('When it was given up; null: it was not'),
  })
  .meta({ id: 'UndeliveredCallback' });
export type UndeliveredCallback = z.infer<typeof undeliveredCallback>;

export const callbackPage = z
  .object({ callbacks: z.array(undeliveredCallback), next: nextPage })
  .meta({ id: 'CallbackPage' });
export type CallbackPage = z.infer<typeof callbackPage>;

export const sendInput = z
  .strictObject({
    ids: z.array(callbackId).min(1).max(PAGE_MAX).optional().describe('Only these; without it all that match the rest'),
    handler: handlerName.optional(),
    state: callbackState.optional().describe('Default: given-up; not with `ids`'),
    limit: z.number().int().min(1).max(1_000_000_000).optional().describe('Most callbacks; not with `ids`'),
  })
  .meta({ id: 'SendCallbacks' });

export const sentCallbacks = z
  .object({ sent: count.describe('Callbacks that are due at once; the notifier delivers them') })
  .meta({ id: 'SentCallbacks' });
