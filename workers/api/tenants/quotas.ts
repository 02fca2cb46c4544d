import type { Admit } from '../../../client/tasks/submitResult';
import type { Labels } from '../../../postgres/grouping/labels';
import { findTenant, readBacklog, readUnfinished } from '../../../postgres/api/tenant';
import type { TenantRow } from '../../../postgres/api/tenant';
import type { Pool } from '../../../postgres/pool';
import { ApiProblem } from '../problem';
import { prefixOf } from './bounds';
import type { Pace } from './pace';
import { emptyForS, filled } from './pace';

/** A count is used for this long, and for so many times what counting took, up to a limit. */
const FRESH_MS = 1_000;
const TIMES_ITS_COST = 20;
const LONGEST_FRESH_MS = 60_000;
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
/** How fast tenants have requests accepted, by their names. */
type Paces = Map<string, Pace>;

/** What a call needs of its tenant's quotas. */
interface Need {
  queued?: number;
  bytes?: number;
  /** `handler\ntarget` of each. */
  targets?: readonly string[];
  executions?: number;
  items?: number;
  /** What stands in place of other tasks is no new work. */
  inPlace?: boolean;
}

/**
 * Holds tenants to their quotas, before anything is written. What a tenant has is counted at most
 * once per second and process; what this process admits in between is added, so that several
 * processes together may admit more by what they take in a second.
 */
export class Quotas {
  constructor(
    private readonly pool: Pool,
    private readonly now: () => number = () => performance.now(),
    private readonly usages = new Map<string, Promise<Usage>>(),
    private readonly paces: Paces = new Map(),
    private readonly isDryRun = false,
  ) {}

  /** Returns the same quotas for dry runs, which are checked and use nothing. */
  ofDryRuns(): Quotas {
    return new Quotas(this.pool, this.now, this.usages, this.paces, true);
  }

  /**
   * Returns what admits tasks that stand in place of others: only what they have more counts, or a
   * tenant whose queue is full could not fix the lane that fills it.
   */
  insteadOf(name: string, { n, bytes }: { n: number; bytes: number }): Admit {
    return (tasks, keys) =>
      this.take(name, {
        queued: Math.max(0, tasks.length - n),
        bytes: Math.max(0, bytesOfTasks(tasks, keys) - bytes),
        targets: [],
        inPlace: true,
      });
  }

  /**
   * Returns what admits the tasks of one submit of this tenant to a handler; with them come their
   * keys and those that they depend on.
   */
  tasks(name: string, handler: string): Admit {
    return (tasks, keys) =>
      this.take(name, {
        queued: tasks.length,
        bytes: bytesOfTasks(tasks, keys),
        targets: tasks.map(({ target }) => `${handler}\n${target}`),
      });
  }

  execution(name: string, items: number): Promise<void> {
    return this.take(name, { executions: 1, items });
  }

  /** A fan-out counts as one item beside its items: each is a row that nothing else bounds. */
  fanout(name: string): Promise<void> {
    return this.take(name, { items: 1 });
  }

  items(name: string, items: number): Promise<void> {
    return this.take(name, { items });
  }

  private async take(name: string, need: Need): Promise<void> {
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
    const paced = need.inPlace === true ? 0 : queued + items;
    if (paced > 0) this.pace(name, paced, usage.tenant.maxPerSecond);
    if (this.isDryRun) return;
    usage.queued += queued;
    usage.bytes += bytes;
    if (maxTargets !== null) for (const target of targets) usage.targets.add(target);
    usage.executions += executions;
    usage.items += items;
  }

  private pace(name: string, n: number, perSecond: number | null): void {
    if (perSecond === null) return;
    const pace = filled(this.paces.get(name), perSecond, this.now());
    const emptyS = emptyForS(pace, perSecond);
    if (emptyS !== null) throw tooFast(n, perSecond, emptyS);
    if (this.isDryRun) return;
    if (this.paces.size >= MOST_KEPT) this.paces.clear();
    this.paces.set(name, { ...pace, level: pace.level - n });
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

  private async count(name: string): Promise<Usage> {
    const begun = this.now();
    const tenant = await findTenant(this.pool, name);
    if (tenant === null) throw new ApiProblem('not-found', `No tenant ${name}.`);
    const isOfTasks = tenant.maxQueued !== null || tenant.maxBytes !== null || tenant.maxTargets !== null;
    const isOfItems = tenant.maxExecutions !== null || tenant.maxItems !== null;
    const { queued, bytes, targets } = isOfTasks
      ? await readBacklog(this.pool, prefixOf(name), tenant.maxTargets ?? 0)
      : { queued: 0, bytes: 0, targets: [] };
    const unfinished = isOfItems ? await readUnfinished(this.pool, name) : { executions: 0, items: 0 };
    const costMs = this.now() - begun;
    const until = this.now() + Math.min(LONGEST_FRESH_MS, Math.max(FRESH_MS, TIMES_ITS_COST * costMs));
    return { tenant, queued, bytes, targets: new Set(targets.map((one) => one.join('\n'))), ...unfinished, until };
  }
}

/** As `readBacklog` counts them in the store. */
const bytesOfTasks = (...[tasks, keys = []]: Parameters<Admit>): number =>
  tasks.reduce((sum, task) => sum + task.bytes + bytesOf(task.labels ?? null), bytesOfTexts(keys));

const bytesOf = (labels: Labels | null): number =>
  labels === null ? 0 : bytesOfTexts([...labels.tags, labels.metadata ?? '']);

const bytesOfTexts = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);

const check = (what: string, has: number, more: number, most: number | null): void => {
  if (most === null || more === 0 || has + more <= most) return;
  throw new ApiProblem(
    'quota',
    `The tenant has ${has} ${what}, and may have ${most}; this request has ${more} more. Nothing was accepted; try again when some have ended.`,
    { code: 'QUOTA', retryAfterS: AGAIN_S, more: { quota: what, has, limit: most } },
  );
};

const tooFast = (n: number, limit: number, retryAfterS: number): ApiProblem =>
  new ApiProblem(
    'quota',
    `The tenant has had as many tasks and items accepted as it may have per second (${limit}); this request has ${n} ` +
      `more. Nothing was accepted; try again in ${retryAfterS} s.`,
    { code: 'QUOTA', retryAfterS, more: { quota: 'tasks and items per second', limit } },
  );
