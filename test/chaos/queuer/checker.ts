import { Findings, linesOf, readStore } from '../judge/evidence';

/**
 * The judge of the lanes: compares what the clients were promised, what the store says and what the
 * downstream did, batch by batch. Knows the names of the tables and the status numbers, and imports
 * nothing of Muster.
 */

/**
 * A batch that the downstream applied, in its order. Ids are `<service>-<number>`, and a service's
 * numbers are submitted in their order.
 */
export interface Applied {
  service: string;
  key: string;
  ids: string[];
}
export interface LaneCall {
  service: string;
  key: string;
  attempt: number;
  worker: number;
  /** The partition that the caller held, and its epoch; null: without affinity. */
  fence: { id: string; epoch: number } | null;
  /** The downstream had seen a higher epoch. */
  refused: boolean;
  /**
   * Other batches of the service that the downstream had accepted and not yet applied when it came.
   */
  beside: number;
}
export interface Evidence {
  /** Ids whose submit resolved. */
  acked: readonly string[];
  stored: readonly { id: string; service: string; status: number }[];
  applied: readonly Applied[];
  calls: readonly LaneCall[];
  /**
   * Calls that were marked by a process that was frozen before it made them, for longer than any
   * lease.
   */
  frozen: readonly { batch: number; attempt: number }[];
}

export interface LaneVerdict {
  batches: number;
  committed: number;
  /** Accepted, and not in the store, or never applied. */
  lost: number;
  /** Not at an end. */
  stuck: number;
  /** Ended otherwise than committed. */
  failed: number;
  /** Applied after something of the same service that was submitted later. */
  inversions: number;
  /** Applied more than once. */
  doubleEffects: number;
  /** Applied to another service than its own, or never submitted. */
  strangers: number;
  /** Sent while another batch of its serial lane was still with the downstream. */
  overlaps: number;
  /** Sent by somebody who had been taken for dead: a later attempt of it was there before. */
  staleCalls: number;
  /** Calls that the downstream refused, since another node had taken the partition. */
  refusedCalls: number;
  /**
   * Calls under an epoch below one that the downstream had seen of that partition, and answered all
   * the same.
   */
  staleAccepted: number;
  /** One epoch of a partition, named by two workers. */
  sharedEpochs: number;
  frozen: number;
  /** Of those that were frozen: sent all the same, after the thaw. */
  thawedSends: number;
  calls: number;
  distinctCalls: number;
  /** First few findings, in words. */
  findings: string[];
}

const COMMITTED = 10;

export const judge = ({ acked, stored, applied, calls, frozen }: Evidence): LaneVerdict => {
  const findings = new Findings();
  const { find } = findings;
  const known = new Set(stored.map(({ id }) => id));
  const verdict: LaneVerdict = {
    batches: stored.length,
    committed: 0,
    lost: 0,
    stuck: 0,
    failed: 0,
    inversions: 0,
    doubleEffects: 0,
    strangers: 0,
    overlaps: 0,
    staleCalls: 0,
    refusedCalls: 0,
    staleAccepted: 0,
    sharedEpochs: 0,
    frozen: frozen.length,
    thawedSends: 0,
    calls: calls.length,
    distinctCalls: new Set(calls.map(({ key }) => key)).size,
    findings: findings.all,
  };
  const effects = judgeApplied(applied, known, verdict, find);
  verdict.lost = findings.lost(acked, known);
  for (const { id, status } of stored)
    if (status === COMMITTED) {
      verdict.committed++;
      if (effects.has(id)) continue;
      verdict.lost++;
      find(`lost: ${id} is committed and the downstream never applied it`);
    } else if (status < COMMITTED) {
      verdict.stuck++;
      find(`stuck: ${id} in status ${status}`);
    } else {
      verdict.failed++;
      find(`failed: ${id} ended with status ${status}`);
    }
  judgeCalls(calls, verdict, find);
  for (const { batch, attempt } of frozen)
    if (calls.some((call) => call.attempt === attempt && call.key.endsWith(`-${batch}`))) {
      verdict.thawedSends++;
      find(`thawed: attempt ${attempt} of batch ${batch} was sent by a process that had been taken for dead`);
    }
  return verdict;
};

/** Returns what was applied. */
const judgeApplied = (
  applied: readonly Applied[],
  known: ReadonlySet<string>,
  verdict: LaneVerdict,
  find: (what: string) => void,
): Set<string> => {
  const effects = new Set<string>();
  const highest = new Map<string, number>();
  for (const { service, key, ids } of applied)
    for (const id of ids) {
      const at = id.lastIndexOf('-');
      const n = Number(id.slice(at + 1));
      if (id.slice(0, at) !== service || !known.has(id)) {
        verdict.strangers++;
        find(`stranger: ${id} was applied to ${service} (${key})`);
      }
      const last = highest.get(service) ?? -1;
      if (effects.has(id)) {
        verdict.doubleEffects++;
        find(`double effect: ${id}, with ${key} again`);
      } else if (n < last) {
        verdict.inversions++;
        find(`inversion: ${id} was applied after ${service}-${last}`);
      }
      effects.add(id);
      highest.set(service, Math.max(last, n));
    }
  return effects;
};

const judgeCalls = (calls: readonly LaneCall[], verdict: LaneVerdict, find: (what: string) => void): void => {
  const newest = new Map<string, number>();
  judgeFences(calls, verdict, find);
  for (const { key, service, attempt, beside } of calls.filter(({ refused }) => !refused)) {
    const last = newest.get(key) ?? 0;
    if (attempt < last) {
      verdict.staleCalls++;
      find(`stale call: attempt ${attempt} of ${key} came after attempt ${last}`);
    }
    newest.set(key, Math.max(last, attempt));
    if (beside === 0) continue;
    verdict.overlaps++;
    find(`overlap: ${key} was sent to ${service} beside ${beside} others`);
  }
};

/** Judged from the order of the calls alone, not from what the downstream made of it. */
const judgeFences = (calls: readonly LaneCall[], verdict: LaneVerdict, find: (what: string) => void): void => {
  const highest = new Map<string, number>();
  const workers = new Map<string, number>();
  for (const { key, fence, worker, refused } of calls) {
    if (fence === null) continue;
    const { id, epoch } = fence;
    if (refused) verdict.refusedCalls++;
    if (epoch < (highest.get(id) ?? 0) && !refused) {
      verdict.staleAccepted++;
      find(`stale epoch: ${key} under epoch ${epoch} of ${id} was accepted after epoch ${highest.get(id)}`);
    }
    highest.set(id, Math.max(highest.get(id) ?? 0, epoch));
    const holder = workers.get(`${id} ${epoch}`) ?? worker;
    if (holder !== worker) {
      verdict.sharedEpochs++;
      find(`shared epoch: ${id} under epoch ${epoch} was served by workers ${holder} and ${worker}`);
    }
    workers.set(`${id} ${epoch}`, holder);
  }
};

/** Reads the store (plain SQL) and the downstream's files. */
export const readEvidence = (
  databaseUrl: string,
  runDir: string,
  acked: readonly string[],
): Promise<Omit<Evidence, 'frozen'>> =>
  readStore(databaseUrl, async (db) => {
    const stored = await db.query<{ id: string; service: string; status: number }>(`
select t.id, l.service, s.status::int as status from lane_batch s join lane l on l.id = s.lane_id join batch b on b.id = s.batch_id
cross join lateral unnest(b.members) u (seq) join task t on t.seq = u.seq`);
    return {
      acked,
      stored: stored.rows,
      applied: linesOf(runDir, 'applied.ndjson'),
      calls: linesOf(runDir, 'calls.ndjson'),
    };
  });
