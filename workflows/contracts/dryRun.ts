import { z } from 'zod';

/** What a dry run answers in place of a change. */
export const dryRun = z
  .object({
    dryRun: z.literal(true).describe('Nothing was done'),
    operation: z.string().describe('Id of the operation'),
    would: z.string().describe('What the request does without `Dry-Run`'),
    now: z.unknown().describe('What it would act on, as it is now; null: nothing can be told before'),
  })
  .meta({ id: 'DryRun' });
