import { findTenant, readBacklog, readUnfinished } from '../../../postgres/api/tenant';
import type { TenantRow } from '../../../postgres/api/tenant';
import type { Pool } from '../../../postgres/pool';
import { ApiProblem } from '../problem';
import { prefixOf } from './bounds';

/** A count is used for this long at least, and for so many times what counting took. */
const FRESH_MS = 1_000;
const TIMES_ITS_COST = 20;
/** Seconds after which a tenant may have room again. */
const AGAIN_S = 5;
/** Counts of so many tenants are kept. */
const MOST_KEPT = 1_000;

interface Usage {
  tenant: TenantRow;
  queued: number;
  bytes: number;
  targets: Set<string>;
  executions: number;
  items: number;
  until: number;
}

/** What a call needs of its tenant's quotas. */
export interface Need {
  queued?: number;
  bytes?: number;
  /** `handler\ntarget` of each. */
  targets?: readonly string[];
  executions?: number;
  items?: number;
}

/** What a request was admitted with, until it has ended. */
export interface Taken {
  readonly tenant: string;
  readonly need: Need;
  /** Null: it was taken back. */
  usage: Usage | null;
}

/**
 * Holds tenants to their quotas, before anything is written. What a tenant has is counted at most
 * once per second and process; what this process admits in between is added, so that several
 * processes together may admit more by what they take in a second. A count may not see yet what
 * requests in progress store: that is added, too.
 */
export class Quotas {
  private readonly usages = new Map<string, Promise<Usage>>();
  /** Of requests in progress. */
  private readonly inProgress = new Set<Taken>();

  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Admits what is needed, and says what it took; null: a dry run. @throws ApiProblem */
  async take(name: string, need: Need, isDryRun: boolean): Promise<Taken | null> {
    const usage = await this.usage(name);
    // From here to the end in one turn: nothing may be awaited between the checks and the sums.
    const { queued = 0, bytes = 0, executions = 0, items = 0 } = need;
    const { maxQueued, maxBytes, maxTargets, maxExecutions, maxItems } = usage.tenant;
    const targets = new Set(need.targets?.filter((one) => !usage.targets.has(one)));
    check('queued tasks', usage.queued, queued, maxQueued);
    check('bytes of queued tasks', usage.bytes, bytes, maxBytes);
    check('targets with queued tasks', usage.targets.size, targets.size, maxTargets);
    check('executions that have not ended', usage.executions, executions, maxExecutions);
    check('items that have not ended', usage.items, items, maxItems);
    if (isDryRun) return null;
    add(usage, need, 1);
    const taken = { tenant: name, need, usage };
    this.inProgress.add(taken);
    return taken;
  }

  /** Takes back what a request was admitted with: it is tried again from its beginning. */
  takeBack(taken: Taken): void {
    this.end(taken);
    if (taken.usage !== null) add(taken.usage, taken.need, -1);
    taken.usage = null;
  }

  /** A request has ended: the next count sees what it stored. */
  end(taken: Taken): void {
    this.inProgress.delete(taken);
  }

  private async usage(name: string): Promise<Usage> {
    const kept = this.usages.get(name);
    if (kept !== undefined) {
      const usage = await kept;
      if (this.now() < usage.until) return usage;
      if (this.usages.get(name) !== kept) return this.usage(name); // another call has begun to count
    }
    if (this.usages.size >= MOST_KEPT) this.usages.clear();
    const counted = this.count(name);
    this.usages.set(name, counted);
    counted.catch(() => this.usages.delete(name));
    return counted;
  }

  private ofTenant(name: string): Taken[] {
    return [...this.inProgress].filter(({ tenant }) => tenant === name);
  }

  private async count(name: string): Promise<Usage> {
    const begun = this.now();
    const before = this.ofTenant(name);
    const tenant = await findTenant(this.pool, name);
    if (tenant === null) throw new ApiProblem('not-found', `No tenant ${name}.`);
    const isOfTasks = tenant.maxQueued !== null || tenant.maxBytes !== null || tenant.maxTargets !== null;
    const isOfItems = tenant.maxExecutions !== null || tenant.maxItems !== null;
    const { queued, bytes, targets } = isOfTasks
      ? await readBacklog(this.pool, prefixOf(name), tenant.maxTargets ?? 0)
      : { queued: 0, bytes: 0, targets: [] };
    const unfinished = isOfItems ? await readUnfinished(this.pool, name) : { executions: 0, items: 0 };
    const until = this.now() + Math.max(FRESH_MS, TIMES_ITS_COST * (this.now() - begun));
    const usage = {
      tenant,
      queued,
      bytes,
      targets: new Set(targets.map((one) => one.join('\n'))),
      ...unfinished,
      until,
    };
    for (const taken of new Set([...before, ...this.ofTenant(name)])) {
      if (taken.usage === null) continue;
      add(usage, taken.need, 1);
      taken.usage = usage;
    }
    return usage;
  }
}

/** Targets are not taken back: that a try used them makes no other one. */
const add = (
  usage: Usage,
  { queued = 0, bytes = 0, targets = [], executions = 0, items = 0 }: Need,
  by: 1 | -1,
): void => {
  usage.queued += by * queued;
  usage.bytes += by * bytes;
  usage.executions += by * executions;
  usage.items += by * items;
  if (by === 1 && usage.tenant.maxTargets !== null) for (const target of targets) usage.targets.add(target);
};

const check = (what: string, has: number, more: number, most: number | null): void => {
  if (most === null || more === 0 || has + more <= most) return;
  throw new ApiProblem(
    'quota',
    `The tenant has ${has} ${what}, and may have ${most}; this request has ${more} more. Nothing was accepted; try again when some have ended.`,
    { code: 'QUOTA', retryAfterS: AGAIN_S, more: { quota: what, has, limit: most } },
  );
};
