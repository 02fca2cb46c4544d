import type { Callback } from '../../../client/tasks/checkTasks';
import type { WorkflowPolicy } from '../../../workflows/planning/callbacks/workflows';
import { workflowRefusal } from '../../../workflows/planning/callbacks/workflows';
import type { Ceilings } from '../../../workflows/planning/executions/ceilings';
import { ceilingRefusal } from '../../../workflows/planning/executions/ceilings';
import type { LimitSettings } from '../../../client/limits/check';
import { checkLimits } from '../../../client/limits/check';
import type { SharedLimitSettings } from '../../../client/limits/checkShared';
import { checkSharedLimit } from '../../../client/limits/checkShared';
import type { SharedLimitView } from '../../../workflows/contracts/limits';
import type { SharedValues } from '../../../workflows/planning/limits/sharing';
import type { CeilingsByHandler } from '../../../workflows/planning/limits/ceilings';
import { aboveCeilings, aboveDefined, ceilingsOf } from '../../../workflows/planning/limits/ceilings';
import { ApiProblem } from '../problem';
import { MOST_NAMED } from '../validate';

/** What the operator lets callers of the HTTP API ask for. */
export interface OperatorLimits {
  /** Workflows that their callbacks may signal. */
  workflows: WorkflowPolicy;
  executions: Ceilings;
  /** The most that they may set of the limits of handlers. */
  limits: CeilingsByHandler;
}

/**
 * Throws if one of the callbacks names a workflow that callers may not have signalled. Each comes
 * with the name of its field.
 */
export const refuseWorkflows = (
  { workflows }: OperatorLimits,
  callbacks: Iterable<readonly [string, Callback | undefined]>,
): void => {
  const errors = [...callbacks].flatMap(([field, callback]) => {
    if (callback === undefined || 'url' in callback) return [];
    const refusal = workflowRefusal(workflows, callback, 'http');
    return refusal === null
      ? []
      : [{ field: `${field}.${refusal.field}`, message: `expected ${refusal.expected}, got ${shown(refusal.got)}` }];
  });
  if (errors.length > 0) throw refused(errors);
};

const shown = (text: string): string => JSON.stringify(text.length > 200 ? `${text.slice(0, 199)}…` : text);

/** Yields the callback of each task, with the name of its field. */
export function* callbacksOf(
  tasks: readonly { callback?: Callback | undefined }[],
  field: string,
): Generator<readonly [string, Callback | undefined]> {
  for (const [index, { callback }] of tasks.entries()) yield [`${field}[${index}].callback`, callback];
}

/** Throws if a request asks for more than the operator's ceilings. */
export const refuseAbove = (
  { executions }: OperatorLimits,
  asked: { concurrency?: number | undefined; timeoutMs?: number | undefined },
): void => {
  const refusals = ceilingRefusal(executions, asked);
  if (refusals.length > 0)
    throw refused(
      refusals.map(({ name, most, got }) => ({
        field: `template.config.${name === 'timeoutMs' ? 'timeout_ms' : name}`,
        message: `expected at most ${most} (executions.${SETTINGS[name]} of the config file), got ${got}`,
      })),
    );
};
const SETTINGS = { concurrency: 'maxConcurrency', timeoutMs: 'maxTimeoutMs' } as const;

/** Throws if a caller sets limits above the operator's ceilings. */
export const refuseLimitsAbove = (
  { limits }: OperatorLimits,
  scope: { handler: string; target?: string },
  asked: LimitSettings,
): void => {
  const { handler, target } = scope;
  const above = aboveCeilings(ceilingsOf(limits, handler), checkLimits(asked, target), target !== undefined);
  if (above.length > 0)
    throw refused(
      above.map(({ limit, most }) => ({
        field: limit,
        message: `expected at most ${most} (api.maxLimits of the config file for handler ${shown(handler)})`,
      })),
    );
};

/** Throws if a caller sets more than the definition of a limit that handlers share. */
export const refuseSharedAbove = ({ name, limits }: SharedLimitView, asked: SharedLimitSettings): void => {
  const definedOf = <N extends keyof SharedValues>(limit: N) =>
    limits.find((one) => one.limit === limit)!.defined as SharedValues[N];
  const defined = { rate: definedOf('rate'), concurrency: definedOf('concurrency') };
  const above = aboveDefined(defined, checkSharedLimit(asked));
  if (above.length > 0)
    throw refused(
      above.map(({ limit, most }) => ({
        field: limit,
        message: `expected at most ${most}, as shared limit ${shown(name)} is defined: set more by the command line`,
      })),
    );
};

const refused = (errors: { field: string; message: string }[]): ApiProblem =>
  new ApiProblem(
    'refused',
    `${errors
      .slice(0, 3)
      .map(({ field, message }) => `${field}: ${message}`)
      .join('\n')}${errors.length > 3 ? `\nand ${errors.length - 3} more` : ''}`,
    { code: 'NOT_ALLOWED', errors: errors.slice(0, MOST_NAMED) },
  );
