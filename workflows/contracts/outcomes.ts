import { z } from 'zod';
import { CALL_OUTCOMES, ENDS } from '../planning/outcomes/kinds';
import { FLUSH_REASONS } from '../planning/states';
import { count, ms, nextPage, time } from './fields';

const countsOf = <K extends string>(names: readonly K[]) =>
  z.object(Object.fromEntries(names.map((name) => [name, count])) as Record<K, typeof count>);

const minuteOutcomes = z
  .object({
    handler: z.string(),
    minute: time.describe('Its beginning'),
    calls: countsOf(CALL_OUTCOMES).describe('Ended calls by what they came to; later: refused for now'),
    ends: countsOf(ENDS).describe('Ends of tasks by the resulting state; retried: tried again'),
    tasks: count.describe('Tasks of the calls'),
    callMs: ms.describe('Durations of the calls together'),
    latency: z.array(count).describe('Calls by duration: up to each bound of `latencyMs`, then those above all'),
    sizes: z.array(count).describe('Calls by tasks: up to each bound of `tasks`, then those above all'),
    reasons: countsOf(Object.keys(FLUSH_REASONS) as (keyof typeof FLUSH_REASONS)[]).describe(
      'First calls of batches by why the batch was closed',
    ),
    p50Ms: ms.nullable().describe('Interpolated from `latency`; null: no calls'),
    p99Ms: ms.nullable(),
  })
  .meta({ id: 'MinuteOutcomes' });
export type MinuteOutcomes = z.infer<typeof minuteOutcomes>;

export const outcomePage = z
  .object({
    outcomes: z.array(minuteOutcomes).describe('The newest minute first; a minute without calls and ends is not there'),
    bounds: z.object({ latencyMs: z.array(z.number()), tasks: z.array(z.number()) }),
    at: time.describe('Now, by the clock of the database'),
    next: nextPage,
  })
  .meta({ id: 'OutcomePage' });
export type OutcomePage = z.infer<typeof outcomePage>;
