import { z } from 'zod';
import { LIMIT_NAMES, SETTABLE } from '../planning/limits/limits';
import { nextPage, time } from './fields';

/** What may be set of the limits of a handler or a target, and what is shown of them. */

const UNITS = ['calls', 'items', 'weight'] as const;
const SCOPES = ['target', 'handler'] as const;
const asDefined = 'null: as defined; left out: as it is';
const calls = z.number().int().min(1).max(10_000).nullable().optional();
const number = z.number().min(SETTABLE.least).max(SETTABLE.most);
const weight = number.nullable().optional();

const rateLimit = z
  .strictObject({
    limit: number,
    perMs: z.number().min(1).max(SETTABLE.longestMs),
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
    until: time.max(40).optional().describe('When what is set ends by itself; default: when it is removed'),
    forMs: z.number().int().min(1).optional().describe('The same as a duration from now'),
  })
  .meta({ id: 'LimitSettings' });

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

const limitView = z
  .object({
    limit: z.enum(LIMIT_NAMES),
    inForce: limitValue,
    defined: limitValue.describe('What counts where nothing is set: of a target, what its handler has'),
    set: z
      .object({ by: z.string(), at: time, until: time.nullable().describe('null: until it is removed') })
      .nullable()
      .describe('Who set it in place of what is defined; null: it is as defined'),
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
