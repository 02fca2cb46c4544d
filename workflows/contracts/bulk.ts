import { z } from 'zod';
import { BULK_VERBS } from '../planning/bulk/actions';
import { isJsonObject } from '../planning/bulk/mergePatch';
import { BULK_STATES } from '../planning/bulk/states';
import { LOWER_UUID } from '../planning/uuid';
import { door } from './audit';
import { count, errorPart, handlerName, namesOf, nextPage, plainName, targetKey, taskTag, time } from './fields';
import { taskState, taskSummary } from './task';

export const bulkId = z
  .string()
  .regex(new RegExp(`^${LOWER_UUID}$`))
  .describe('Id of a bulk action');
const bulkState = namesOf(BULK_STATES).describe(
  'counting, then working; done: all that matched were looked at; stopped: by an operator',
);

const bulkFilter = z
  .strictObject({
    state: taskState
      .optional()
      .describe('With redrive: failed, dead, unknown or succeeded. Otherwise there is only one: default'),
    id: plainName(256).optional().describe('Only the task with this id'),
    target: targetKey.optional().describe('Only this target; default: the whole handler'),
    tag: taskTag.optional().describe('Only tasks that were submitted with this tag'),
    error: errorPart.describe('Only tasks whose error contains this text'),
    errorCode: plainName(100).optional().describe('Only tasks in whose error this stands as a word, such as 503'),
    errorGroup: plainName(1_000).optional().describe('Only errors of this group: `text` of `GET /v1/errors`'),
    since: time.max(40).optional().describe('Only tasks that ended, or while they wait were accepted, since then'),
    until: time.max(40).optional().describe('Only tasks that ended, or while they wait were accepted, before'),
  })
  .meta({ id: 'BulkFilter' });

/** No record, which leaves out a member `__proto__`, so that nothing can refuse it. */
const mergePatch = z
  .custom<Readonly<Record<string, unknown>>>(isJsonObject, 'expected an object')
  .meta({ type: 'object', additionalProperties: {} });

const bulkActionInput = z
  .discriminatedUnion('do', [
    z.strictObject({ do: z.literal('cancel') }),
    z.strictObject({ do: z.literal('redrive') }),
    z.strictObject({
      do: z.literal('resolve'),
      as: z.enum(['succeeded', 'failed']),
      result: z.unknown().optional().describe('With succeeded: the value of each task'),
      error: z.string().max(10_000).optional().describe('With failed: why'),
    }),
    z.strictObject({
      do: z.literal('update'),
      payloadPatch: mergePatch
        .optional()
        .describe('A JSON merge patch (RFC 7396): null removes a member. Not beside priority or notBefore'),
      priority: z.number().int().min(-32_768).max(32_767).optional(),
      weight: z.number().min(0).optional(),
      notBefore: time.max(40).nullable().optional().describe('Null: at once'),
      expiresAt: time.max(40).nullable().optional().describe('Fails if it still waits then; null: never'),
    }),
  ])
  .describe('What is done to each task')
  .meta({ id: 'BulkDeed' });

export const bulkInput = z
  .strictObject({
    handler: handlerName,
    where: bulkFilter.optional().describe('Default: all tasks of the handler that are in the state'),
    action: bulkActionInput,
    limit: z.number().int().min(1).max(1_000_000_000).optional().describe('Most tasks; default: no limit'),
  })
  .meta({ id: 'BulkInput' });

export const bulkDryRun = z
  .object({
    count: count.describe('Tasks that match now, without those known to be as wanted already'),
    complete: z.boolean().describe('False: there are more, and counting them would take too long'),
    sample: z.array(taskSummary).describe('The first of them'),
    refused: z
      .array(z.object({ id: z.string(), reason: z.string() }))
      .optional()
      .describe('With payloadPatch: those of the sample that would keep their payloads, and why'),
  })
  .meta({ id: 'BulkDryRun' });
export type BulkDryRun = z.infer<typeof bulkDryRun>;

export const bulkView = z
  .object({
    id: bulkId,
    handler: z.string(),
    action: z
      .looseObject({ do: z.enum(BULK_VERBS) })
      .describe('What is done to each task; the result of a resolve is left out, and payloadPatch is JSON text'),
    where: z.looseObject({ state: taskState }).describe('The filter'),
    limit: count.nullable(),
    state: bulkState,
    total: count.describe('Tasks that matched when they were counted; so far, while it is counting'),
    done: count.describe('Tasks that were changed'),
    skipped: count.describe('Tasks that had left the state when their turn came, or were as wanted'),
    failed: count.describe('Tasks that could not be changed'),
    failures: z.record(z.string(), count).describe('Their number, by reason'),
    perSecond: z.number().nullable().describe('Tasks per second since it began to work; null: it has not'),
    error: z.string().nullable().describe('Why its last step failed, which is tried again; null: it did not'),
    waitsFor: z.string().nullable().describe('Without which no worker makes it: that runs, or that has the handler'),
    who: z.string().describe('Who started it, as in the audit'),
    door,
    origin: z.string().nullable().describe('Address of the caller over HTTP'),
    createdAt: time,
    changedAt: time.describe('When it last made a step'),
    finishedAt: time.nullable(),
  })
  .meta({ id: 'BulkAction' });
export type BulkView = z.infer<typeof bulkView>;

export const bulkPage = z.object({ actions: z.array(bulkView), next: nextPage }).meta({ id: 'BulkPage' });
export type BulkPage = z.infer<typeof bulkPage>;
