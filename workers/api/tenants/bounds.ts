import { isUuid } from '../../../workflows/planning/uuid';
import * as owners from '../../../postgres/api/owner';
import { findNamesOfTenants } from '../../../postgres/api/tenant';
import type { Pool } from '../../../postgres/pool';
import { ApiProblem } from '../problem';

/** What a token is limited to. */
export interface Limits {
  /**
   * Its tasks, and its lanes, are those whose names begin with this name and a slash; its
   * executions and fan-outs are marked with it. Null: no limit.
   */
  tenant: string | null;
  /**
   * Names of handlers, and of functions of executions, or their beginnings with a `*`; null: all.
   */
  handlers: readonly string[] | null;
}

export const UNLIMITED: Limits = { tenant: null, handlers: null };
export const isUnlimited = ({ tenant, handlers }: Limits): boolean => tenant === null && handlers === null;

/** Returns what the names of a tenant's tasks and lanes begin with. */
export const prefixOf = (tenant: string): string => `${tenant}/`;

/** Returns the tenant whose name this would be; '': it would be of none. */
const tenantIn = (name: string): string => name.slice(0, Math.max(0, name.indexOf('/')));

/** A name that a call gives, and where. */
export type GivenName = readonly [field: string, name: string];

/** Says whether a name is one of those allowed. */
export const isAllowed = (allowed: readonly string[] | null, name: string): boolean =>
  allowed === null || allowed.some((one) => (one.endsWith('*') ? name.startsWith(one.slice(0, -1)) : name === one));

/** The answer where a thing is not there, and where it is another's. */
const notFound = (what: string, name: string): ApiProblem =>
  new ApiProblem('not-found', `No ${what} ${JSON.stringify(name)} that this token may see.`, { code: 'NOT_FOUND' });

const invalidName = ([field, name]: GivenName, expected: string, brief: string): ApiProblem =>
  new ApiProblem('refused', `${field}: expected ${expected}, got ${JSON.stringify(name.slice(0, 100))}.`, {
    code: 'INVALID_ID',
    errors: [{ field, message: `expected ${brief}` }],
  });

/**
 * Decides whether a thing is a caller's; throws a 404 for what is not, as for what does not exist.
 */
export class Bounds {
  readonly prefix: string;

  constructor(
    readonly limits: Limits,
    private readonly pool: Pool,
  ) {
    this.prefix = limits.tenant === null ? '' : prefixOf(limits.tenant);
  }

  handler(name: string): void {
    if (!isAllowed(this.limits.handlers, name)) throw notFound('handler', name);
  }

  /** Throws unless its executions may run it: a function is named among the handlers. */
  function(id: string): void {
    if (!isAllowed(this.limits.handlers, id)) throw notFound('function', id);
  }

  /** Throws for tenants, which share a handler with others. */
  wholeHandler(name: string): void {
    this.handler(name);
    if (this.limits.tenant !== null) throw notFound('handler', name);
  }

  /** Throws unless a name begins as the tenant's names do: it is no secret how. */
  ownName(field: string, name: string): void {
    if (!name.startsWith(this.prefix))
      throw invalidName(
        [field, name],
        `${JSON.stringify(this.prefix)} at the beginning, as in all names of this token's tenant`,
        `it to begin with ${this.prefix}`,
      );
  }

  /**
   * Throws for new names that are not the caller's to give. Of a token that is limited to handlers
   * alone these are those of any tenant, whose quotas and lanes it would fill.
   */
  async newNames(names: readonly GivenName[]): Promise<void> {
    if (this.limits.tenant !== null) {
      for (const [field, name] of names) this.ownName(field, name);
      return;
    }
    const asked = new Set(names.map(([, name]) => tenantIn(name)).filter((one) => one !== ''));
    const tenants = asked.size === 0 ? asked : await findNamesOfTenants(this.pool, [...asked]);
    const other = names.find(([, name]) => tenants.has(tenantIn(name)));
    if (other !== undefined) {
      const expected = "a name that does not begin with a tenant's and a slash";
      throw invalidName(other, `${expected}, since this token has no tenant`, expected);
    }
  }

  /**
   * Throws where a tenant's task would go before those of the others that have tasks of its target:
   * a lower priority goes first, and most have none, which is 0.
   */
  priority(field: string, priority: number): void {
    if (this.limits.tenant === null || priority >= 0) return;
    const expected = 'expected 0 or higher, as in all tasks of a tenant';
    throw new ApiProblem(
      'refused',
      `${field}: ${expected}, got ${priority}: a lower one would go before tasks of other tenants.`,
      { code: 'INVALID_PRIORITY', errors: [{ field, message: expected }] },
    );
  }

  /** Returns those of these ids that are of tasks which are the caller's, in the same order. */
  async tasks(ids: readonly string[]): Promise<string[]> {
    const mine = ids.filter((id) => id.startsWith(this.prefix));
    const { handlers } = this.limits;
    if (handlers === null || mine.length === 0) return mine;
    const found = await owners.handlersOfTasks(this.pool, mine);
    return mine.filter((id) => {
      const handler = found.get(id);
      return handler !== undefined && isAllowed(handlers, handler);
    });
  }

  async task(id: string): Promise<void> {
    if ((await this.tasks([id])).length === 0) throw notFound('task', id);
  }

  /** Throws for batches of other handlers; a tenant's batches are those of its lanes. */
  async batches(batches: readonly number[]): Promise<void> {
    const wanted = [...new Set(batches)];
    const found = wanted.length === 0 ? [] : await owners.ownersOfBatches(this.pool, wanted);
    const mine = found.filter(
      ({ handler, service }) =>
        isAllowed(this.limits.handlers, handler) &&
        (this.prefix === '' || (service !== null && service.startsWith(this.prefix))),
    );
    if (mine.length < wanted.length) throw notFound('batch', wanted.join(', '));
  }

  private async lane(service: string): Promise<void> {
    if (!service.startsWith(this.prefix)) throw notFound('lane', service);
    if (this.limits.handlers === null) return;
    const handler = (await owners.handlersOfLanes(this.pool, [service])).get(service);
    if (handler === undefined || !isAllowed(this.limits.handlers, handler)) throw notFound('lane', service);
  }

  /** Throws where one of these lanes is there, and another handler's. The others are new. */
  async lanes(services: readonly string[]): Promise<void> {
    const { handlers } = this.limits;
    if (handlers === null || services.length === 0) return;
    const found = await owners.handlersOfLanes(this.pool, services);
    const other = services.find((one) => found.has(one) && !isAllowed(handlers, found.get(one)!));
    if (other !== undefined) throw notFound('lane', other);
  }

  /**
   * Throws for targets in lanes that are not the caller's to name. The first task of a target binds
   * it to a lane for good, and no other tenant could send anything to it. One that feeds the very
   * lane already may go on.
   */
  async targetsInLanes(handler: string, wanted: readonly { target: string; service: string }[]): Promise<void> {
    const { tenant } = this.limits;
    const others = wanted.filter(({ target }) =>
      tenant === null ? tenantIn(target) !== '' : !target.startsWith(this.prefix),
    );
    if (others.length === 0) return;
    const lanes = await owners.lanesOfTargets(this.pool, handler, [...new Set(others.map(({ target }) => target))]);
    const unbound = others.filter(({ target, service }) => lanes.get(target) !== service);
    await this.newNames(unbound.map(({ target }) => ['target', target]));
  }

  /** Throws for a lane in which batches of other handlers are, too. */
  async wholeLane(service: string): Promise<void> {
    await this.lane(service);
    const { handlers } = this.limits;
    if (handlers === null) return;
    const found = await owners.handlersInLane(this.pool, service);
    if (!found.every((handler) => isAllowed(handlers, handler))) throw notFound('lane', service);
  }

  /** Returns what halts a lane, and throws unless its handler is the caller's. */
  async halt(service: string): Promise<owners.Halt> {
    await this.lane(service);
    const halt = await owners.readHalt(this.pool, service);
    const isMine = halt !== null && (halt.handler === null || isAllowed(this.limits.handlers, halt.handler));
    if (!isMine) throw notFound('lane', service);
    return halt;
  }

  /** Returns the tenant; a token that is limited to handlers alone has none. */
  tenant(): string {
    if (this.limits.tenant === null)
      throw new ApiProblem(
        'not-found',
        'A token that is limited to handlers sees no executions, fan-outs or lists of lanes.',
        {
          code: 'NOT_FOUND',
        },
      );
    return this.limits.tenant;
  }

  /** Throws for bulk actions on other handlers, and for tenants, which share a handler. */
  async bulk(id: string): Promise<void> {
    const handler = await owners.handlerOfBulk(this.pool, id);
    const isMine = handler !== null && this.limits.tenant === null && isAllowed(this.limits.handlers, handler);
    if (!isMine) throw notFound('bulk action', id);
  }

  async execution(id: string): Promise<void> {
    if (!(await this.isOwnExecution(id))) throw notFound('execution', id);
  }

  async isOwnExecution(id: string): Promise<boolean> {
    const functionId = await owners.functionOfExecution(this.pool, id, this.tenant());
    return functionId !== null && isAllowed(this.limits.handlers, functionId);
  }

  /** Returns how many items an own execution has whose list is not complete; null: none is such. */
  itemsSent(id: string): Promise<number | null> {
    return owners.itemsSentOf(this.pool, id, this.tenant());
  }

  async fanouts(ids: readonly string[]): Promise<void> {
    const tenant = this.tenant();
    const wanted = [...new Set(ids)];
    const isKnown = wanted.every(isUuid) && (await owners.countFanoutsOf(this.pool, wanted, tenant)) === wanted.length;
    if (!isKnown) throw notFound('fan-out', wanted.slice(0, 3).join(', '));
  }

  /** Says whether there is no fan-out with this id; throws where one is another's. */
  async isNewFanout(id: string): Promise<boolean> {
    if ((await owners.countFanoutsOf(this.pool, [id], this.tenant())) > 0) return false;
    if (await owners.isFanout(this.pool, id)) throw notFound('fan-out', id);
    return true;
  }
}
