import { serviceOf, stateKeysOf } from '../../../client/lanes/submitInLane';
import type { Admit, Checked } from '../../../client/tasks/submitResult';
import type { Contract } from '../../../handlers/types';
import { ApiProblem } from '../problem';
import type { Call } from '../route';
import type { Bounds, GivenName } from './bounds';
import type { Quotas } from './quotas';

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

/** Throws for tasks that are not the caller's to name, or that would overtake those of others. */
export const newTasks = async (
  { bounds }: Within,
  lists: readonly (readonly [field: string, tasks: readonly Named[]])[],
): Promise<void> => {
  const names: GivenName[] = [];
  for (const [field, tasks] of lists)
    tasks.forEach(({ id, priority = 0, dependsOn = [] }, i) => {
      names.push([`${field}[${i}].id`, id]);
      bounds.priority(`${field}[${i}].priority`, priority);
      dependsOn.forEach((needed, j) => bounds.ownName(`${field}[${i}].dependsOn[${j}]`, needed));
    });
  await bounds.newNames(names);
};

/** Returns the keys that are stored of single tasks. */
export const keysOfTasks = (handler: Contract, tasks: readonly Checked[]): string[] =>
  tasks.flatMap((task) => {
    const { reads, writes } = handler.ordered ? stateKeysOf(handler, task) : { reads: [], writes: [] };
    return [task.key ?? '', ...reads, ...writes];
  });

/** Returns what holds the tasks of a limited token to its tenant's quotas and its own lanes. */
export const admission = (
  within: Within,
  call: Call,
  name: string,
  besides?: (handler: Contract, tasks: readonly Checked[]) => readonly string[],
): Pick<Call, 'admit' | 'admitLanes'> => ({
  ...ofTasks(within, call, name, besides),
  // Of two handlers that begin a lane at once, one is its handler: only then is it known which.
  admitLanes: (services) => within.bounds.lanes(services),
});

/**
 * The first batch of a target binds it to a lane for good: where the handler does not say to which,
 * a tenant could take the targets of others.
 */
const ofTasks = (
  { bounds, quotas }: Within,
  { client }: Call,
  name: string,
  besides: (handler: Contract, tasks: readonly Checked[]) => readonly string[] = () => [],
): Pick<Call, 'admit'> => {
  const { tenant } = bounds.limits;
  const handler = client.handler(name);
  const quota: Admit | null =
    tenant === null
      ? null
      : (tasks, keys = []) => quotas.tasks(tenant, name)(tasks, [...keys, ...besides(handler, tasks)]);
  if (handler.ordered && handler.service !== undefined)
    return {
      admit: async (tasks, keys) => {
        await inLanes(bounds, handler, tasks);
        await quota?.(tasks, keys);
      },
    };
  if (quota === null) return {};
  if (!handler.ordered) return { admit: quota };
  throw new ApiProblem(
    'refused',
    `handler: expected one that defines \`service\`, got ${name}: in its lanes tenants could take each other's targets.`,
    { code: 'INVALID_HANDLER' },
  );
};

/** Throws for tasks whose lanes, or targets there, are not the caller's. */
const inLanes = async (bounds: Bounds, handler: Contract, tasks: readonly Checked[]): Promise<void> => {
  const wanted = tasks.map(({ target, payload }) => ({ target, service: serviceOf(handler, target, payload) }));
  const services = [...new Set(wanted.map(({ service }) => service))];
  await bounds.newNames(services.map((service) => ['service', service]));
  await bounds.lanes(services);
  await bounds.targetsInLanes(handler.name, wanted);
};
