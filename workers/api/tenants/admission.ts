import { serviceOf } from '../../../client/lanes/submitInLane';
import { ApiProblem } from '../problem';
import type { Call } from '../route';
import type { Bounds } from './bounds';
import type { Quotas } from './quotas';
import { bytesOfTexts } from './quotas';

/** What a limited token's call is checked by. */
export interface Within {
  bounds: Bounds;
  quotas: Quotas;
}

/** A task that a call names. */
export interface Named {
  id: string;
  priority?: number;
  dependsOn?: readonly string[];
}

/** Throws for tasks, or dependencies, whose names are not the tenant's, and that overtake others. */
export const newTasks = ({ bounds }: Within, field: string, tasks: readonly Named[]): void =>
  tasks.forEach(({ id, priority = 0, dependsOn = [] }, i) => {
    bounds.newName(`${field}[${i}].id`, id);
    bounds.priority(`${field}[${i}].priority`, priority);
    dependsOn.forEach((needed, j) => bounds.newName(`${field}[${i}].dependsOn[${j}]`, needed));
  });

/**
 * Returns what holds the tasks of a tenant to its quotas and its lanes. The first batch of a target
 * binds it to a lane for good: where the handler does not say to which, a tenant could take the
 * targets of others.
 */
export const admission = (
  { bounds, quotas }: Within,
  { client }: Call,
  name: string,
  besides: readonly string[] = [],
): Pick<Call, 'admit'> => {
  const { tenant } = bounds.limits;
  if (tenant === null) return {};
  const quota = quotas.tasks(tenant, name, bytesOfTexts(besides));
  const handler = client.handler(name);
  if (!handler.ordered) return { admit: quota };
  if (handler.service === undefined)
    throw new ApiProblem(
      'refused',
      `handler: expected one that defines \`service\`, got ${name}: in its lanes tenants could take each other's targets.`,
      { code: 'INVALID_HANDLER' },
    );
  return {
    admit: async (tasks) => {
      for (const { target, payload } of tasks) bounds.newName('service', serviceOf(handler, target, payload));
      await quota(tasks);
    },
  };
};
