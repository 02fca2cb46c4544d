import { problemsOf, settings } from './checks';
import { ConfigError } from './configError';
import { contractFunctions, fillContract, subjectOf } from './contracts/defineContract';
import { callFunctions, callProblems, fillHandler } from './contracts/implement';
import { commonShape, crossProblems } from './settings';
import type { Handler, HandlerOptions } from './types';

const optionsSchema = settings({ ...commonShape, ...contractFunctions, ...callFunctions });

/**
 * Returns a handler: checks the options, and fills in the defaults. It is short for `implement` of
 * what `defineContract` returns. Throws one `ConfigError` that lists all problems.
 */
export function defineHandler<P, I = P>(options: HandlerOptions<P, I>): Handler<P, I> {
  const problems = [...problemsOf(optionsSchema, options), ...crossProblems(options), ...callProblems(options)];
  if (problems.length > 0) throw new ConfigError(subjectOf(options), problems);
  return fillHandler(fillContract(options), options);
}
