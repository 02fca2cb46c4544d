import { z } from 'zod';
import { LIMIT_NAMES, SETTABLE } from '../planning/limits/limits';
import { SHARED_LIMIT_NAMES } from '../planning/limits/sharing';
import { nextPage, time } from './fields';

/** What may be set of the limits of a handler or a target, and what is shown of them. */

const UNITS = ['calls', 'items', 'weight'] as const;
const SCOPES = ['target', 'handler'] as const;
const asDefined = 'null: as defined; left out: as it is';
const calls = z.number().int().min(1).max(10_000).nullable().optional();
const number = z.number().min(SETTABLE.least).max(SETTABLE.most);
const weight = number.nullable().optional();

const rateMs = z.number().min(1).max(SETTABLE.longestMs);
const lasting = {
  until: time.max(40).optional().describe('When what is set ends by itself; default: when it is removed'),
  forMs: z.number().int().min(1).optional().describe('The same as a duration from now'),
};

const rateLimit = z
  .strictObject({
    limit: number,
    perMs: rateMs,
    unit: z.enum(UNITS),
    scope: z.enum(SCOPES).optional(),
  })
  .describe('At most `limit` units per `perMs`, evenly paced')
  .meta({ id: 'RateLimit' });

export const limitSettings = z
  .strictObject({
    rate: z
      .union([rateLimit, z.array(rateLimit).max(10)])
      .nullable()
      .optional()
      .describe(`All of its rates; [] for none; ${asDefined}`),
    concurrency: z
      .strictObject({ perTarget: calls, perHandler: calls })
      .optional()
      .describe(`Calls at once; ${asDefined}`),
    maxWeightInFlight: z
      .strictObject({ perTarget: weight, perHandler: weight })
      .optional()
      .describe(`Weight of the batches that have not ended; ${asDefined}`),
    ...lasting,
  })
  .meta({ id: 'LimitSettings' });

const sharedRate = z
  .strictObject({ limit: number, perMs: rateMs, unit: z.enum(UNITS) })
  .describe('At most `limit` units per `perMs`, evenly paced, over all handlers that share it')
  .meta({ id: 'SharedRate' });
export const sharedLimitSettings = z
  .strictObject({
    rate: z
      .union([sharedRate, z.array(sharedRate).max(10)])
      .nullable()
      .optional()
      .describe(`All of its rates; [] for none; ${asDefined}`),
    concurrency: calls.describe(`Calls at once of all handlers that share it; ${asDefined}`),
    ...lasting,
  })
  .meta({ id: 'SharedLimitSettings' });

const rateInForce = z
  .object({ limit: z.number(), perMs: z.number(), unit: z.enum(UNITS), scope: z.enum(SCOPES) })
  .meta({ id: 'RateInForce' });
const limitValue = z.union([z.number(), z.array(rateInForce), z.null()]).describe('null: no limit');

/** A limit that is set, in what shows a handler or a target. */
export const limitSetting = z
  .object({
    limit: z.enum(LIMIT_NAMES),
    value: limitValue,
    by: z.string(),
    at: time,
    until: time.nullable().describe('null: until it is removed'),
  })
  .meta({ id: 'LimitSetting' });
export type LimitSetting = z.infer<typeof limitSetting>;

const whoSet = z
  .object({ by: z.string(), at: time, until: time.nullable().describe('null: until it is removed') })
  .nullable()
  .describe('Who set it in place of what is defined; null: it is as defined');

const limitView = z
  .object({
    limit: z.enum(LIMIT_NAMES),
    inForce: limitValue,
    defined: limitValue.describe('What counts where nothing is set: of a target, what its handler has'),
    set: whoSet,
  })
  .meta({ id: 'Limit' });
export type LimitView = z.infer<typeof limitView>;

export const limitsView = z
  .object({
    handler: z.string(),
    target: z.string().nullable().describe('null: the handler'),
    limits: z.array(limitView),
  })
  .meta({ id: 'Limits' });
export type LimitsView = z.infer<typeof limitsView>;

export const limitsChanged = limitsView
  .extend({
    changed: z
      .array(z.object({ limit: z.enum(LIMIT_NAMES), from: limitValue, to: limitValue }))
      .describe('What counts differently now'),
  })
  .meta({ id: 'LimitsChanged' });
export type LimitsChange = z.infer<typeof limitsChanged>;

export const limitsPage = z
  .object({
    limits: z.array(limitsView).describe('Handlers and targets for which limits are set, by name'),
    next: nextPage,
  })
  .meta({ id: 'LimitsPage' });
export type LimitsPage = z.infer<typeof limitsPage>;

const sharedRateInForce = rateInForce.extend({ scope: z.literal('shared') }).meta({ id: 'SharedRateInForce' });
const sharedValue = z.union([z.number(), z.array(sharedRateInForce), z.null()]).describe('null: no limit');

export const sharedLimitView = z
  .object({
    name: z.string(),
    handlers: z.array(z.string()).describe('Handlers that share it'),
    limits: z.array(
      z
        .object({ limit: z.enum(SHARED_LIMIT_NAMES), inForce: sharedValue, defined: sharedValue, set: whoSet })
        .meta({ id: 'SharedLimitValue' }),
    ),
  })
  .meta({ id: 'SharedLimit' });
export type SharedLimitView = z.infer<typeof sharedLimitView>;

export const sharedLimitChanged = sharedLimitView
  .extend({
    changed: z
      .array(z.object({ limit: z.enum(SHARED_LIMIT_NAMES), from: sharedValue, to: sharedValue }))
      .describe('What counts differently now'),
  })
  .meta({ id: 'SharedLimitChanged' });
export type SharedLimitChange = z.infer<typeof sharedLimitChanged>;

export const sharedLimitsPage = z
  .object({ limits: z.array(sharedLimitView).describe('All of them, set or not, by name'), next: nextPage })
  .meta({ id: 'SharedLimitsPage' });
export type SharedLimitsPage = z.infer<typeof sharedLimitsPage>;
