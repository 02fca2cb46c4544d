import { z } from 'zod';
import { hooksProblem, HOOKS_EXPECTED } from '../../handlers/hooks/check';
import type { Hooks } from '../../handlers/hooks/types';

/** The `hooks` of the settings. */
export const hooks: z.ZodType<Hooks> = z
  .custom<Hooks>()
  .superRefine((value, context) => {
    const problem = hooksProblem(value);
    if (problem === null) return;
    const { path, message } = problem;
    context.addIssue({ code: 'custom', message, path: path === '' ? [] : [path] });
  })
  .meta({ expected: HOOKS_EXPECTED });
