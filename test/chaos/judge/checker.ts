import { Findings, linesOf, readStore } from './evidence';

/**
 * The judge: compares what the clients were promised, what the store says and what the downstream
 * did, task by task. Knows the names of the tables and the state numbers, and imports nothing of
 * Muster.
 */

export interface Effect {
  id: string;
  n: number;
  from: string;
  place: number;
  handler: string;
  batch: string;
  attempt: number;
  key?: string;
}
export interface Call {
  handler: string;
  batch: string;
  attempt: number;
  key?: string;
  replayed: boolean;
  ids: string[];
  /** Index of the worker that made it. */
  worker: number;
  atMs: number;
}
/** A worker was killed, or stood still for `forMs`. */
export interface Interruption {
  worker: number;
  atMs: number;
  forMs: number;
}
export interface StoredTask {
  id: string;
  handler: string;
  state: number;
}
export interface Evidence {
  /** Ids whose submit resolved. */
  acked: readonly string[];
  tasks: readonly StoredTask[];
  /** Members of every batch that was not dissolved. */
  batches: readonly { id: string; members: readonly string[] }[];
  effects: readonly Effect[];
  calls: readonly Call[];
  interruptions: readonly Interruption[];
  /** Of these handlers a task may be parked as unknown. */
  mayPark: readonly string[];
}

export interface Verdict {
  tasks: number;
  succeeded: number;
  /** Unknown at the end, of a handler that parks. */
  parked: number;
  /** Accepted, and not in the store, or terminal without an effect at the downstream. */
  lost: number;
  /** Not at an end. */
  stuck: number;
  /** Ended in another way than all-success allows. */
  failed: number;
  /** Tasks with more than one effect. */
  duplicatedEffects: number;
  /** Tasks in two live batches of the store, or sent under two keys. */
  inTwoBatches: number;
  /**
   * Calls whose members are not in the order of their submits, or that came again with other
   * members.
   */
  disordered: number;
  calls: number;
  distinctCalls: number;
  /** Calls of a batch that came again though the worker of the call before was not interrupted. */
  needlessRepeats: number;
  /** First few findings, in words. */
  findings: string[];
}

const UNKNOWN = 3;
const SUCCEEDED = 4;

export const judge = (evidence: Evidence): Verdict => {
  const { acked, tasks, effects, calls, mayPark } = evidence;
  const findings = new Findings();
  const { find } = findings;
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const effectsOf = countBy(effects.map(({ id }) => id));
  const verdict: Verdict = {
    tasks: tasks.length,
    succeeded: 0,
    parked: 0,
    lost: findings.lost(acked, byId),
    stuck: 0,
    failed: 0,
    duplicatedEffects: 0,
    inTwoBatches: 0,
    disordered: 0,
    calls: calls.length,
    distinctCalls: 0,
    needlessRepeats: 0,
    findings: findings.all,
  };
  for (const task of tasks) {
    const { id, handler, state } = task;
    if (state === SUCCEEDED) {
      verdict.succeeded++;
      if (effectsOf.has(id)) continue;
      verdict.lost++;
      find(`lost: ${id} is succeeded and the downstream never saw it`);
    } else if (state === UNKNOWN && mayPark.includes(handler)) verdict.parked++;
    else if (state <= UNKNOWN) {
      verdict.stuck++;
      find(`stuck: ${id} of ${handler} in state ${state}`);
    } else {
      verdict.failed++;
      find(`failed: ${id} of ${handler} ended in state ${state}`);
    }
  }
  for (const [id, n] of effectsOf)
    if (n > 1) {
      verdict.duplicatedEffects++;
      find(
        `duplicated: ${id} had ${n} effects: ${effects
          .filter((effect) => effect.id === id)
          .map(({ batch, attempt }) => `batch ${batch} attempt ${attempt}`)
          .join(', ')}`,
      );
    }
  judgeBatches(evidence, verdict, find);
  judgeCalls(calls, verdict, find);
  judgeRepeats(evidence, verdict, find);
  return verdict;
};

const judgeBatches = ({ batches, calls }: Evidence, verdict: Verdict, find: (what: string) => void): void => {
  const twice = new Set<string>();
  const batchOf = new Map<string, string>();
  const note = (id: string, batch: string): void => {
    const other = batchOf.get(id);
    if (other === undefined) batchOf.set(id, batch);
    else if (other !== batch && !twice.has(id)) {
      twice.add(id);
      find(`in two batches: ${id} in ${other} and ${batch}`);
    }
  };
  for (const { id, members } of batches) for (const member of members) note(member, id);
  for (const { batch, ids } of calls) for (const id of ids) note(id, batch);
  verdict.inTwoBatches = twice.size;
};

/** Ids are `<submitter>-<number>`, and a submitter submits its numbers one call after another. */
const judgeCalls = (calls: readonly Call[], verdict: Verdict, find: (what: string) => void): void => {
  const first = new Map<string, string>();
  for (const { handler, batch, attempt, ids } of calls) {
    const members = ids.join(' ');
    const before = first.get(batch);
    first.set(batch, before ?? members);
    const last = new Map<string, number>();
    const inOrder = ids.every((id) => {
      const at = id.lastIndexOf('-');
      const from = id.slice(0, at);
      const n = Number(id.slice(at + 1));
      const ok = n > (last.get(from) ?? -1);
      last.set(from, n);
      return ok;
    });
    if (inOrder && (before === undefined || before === members)) continue;
    verdict.disordered++;
    find(`disordered: batch ${batch} of ${handler}, attempt ${attempt}: ${members.slice(0, 200)}`);
  }
  verdict.distinctCalls = first.size;
};

/** A kill may cost each batch that it interrupts one more call, and no other batch any. */
const judgeRepeats = ({ calls, interruptions }: Evidence, verdict: Verdict, find: (what: string) => void): void => {
  const before = new Map<string, Call>();
  for (const call of [...calls].sort((a, b) => a.attempt - b.attempt)) {
    const earlier = before.get(call.batch);
    before.set(call.batch, call);
    if (earlier === undefined) continue;
    // One who stood still before its call may make it after the repeat.
    const from = Math.min(earlier.atMs, call.atMs);
    const to = Math.max(earlier.atMs, call.atMs);
    const interrupted = interruptions.some(
      ({ worker, atMs, forMs }) => worker === earlier.worker && atMs <= to && atMs + forMs >= from,
    );
    if (interrupted) continue;
    verdict.needlessRepeats++;
    find(
      `needless repeat: batch ${call.batch} of ${call.handler}, attempt ${call.attempt} by worker ` +
        `${call.worker}, ${call.atMs - earlier.atMs} ms after attempt ${earlier.attempt} by worker ` +
        `${earlier.worker}, which was not interrupted`,
    );
  }
};

const countBy = (keys: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

/** Reads the store (plain SQL) and the downstream's files. */
export const readEvidence = (
  databaseUrl: string,
  runDir: string,
  { acked, interruptions, mayPark }: Pick<Evidence, 'acked' | 'interruptions' | 'mayPark'>,
): Promise<Evidence> =>
  readStore(databaseUrl, async (db) => {
    const tasks = await db.query<StoredTask>(`
select s.id, h.name as handler, s.state::int as state from task_state s join target t on t.id = s.target_id join handler h on h.id = t.handler_id`);
    const batches = await db.query<{ id: string; members: string[] }>(`
select b.id::text as id, array_agg(t.id order by u.place) as members from batch b cross join lateral unnest(b.members) with ordinality u (seq, place)
join task t on t.seq = u.seq where b.state <> 7 group by b.id`);
    return {
      acked,
      tasks: tasks.rows,
      batches: batches.rows,
      effects: linesOf(runDir, 'effects.ndjson'),
      calls: linesOf(runDir, 'calls.ndjson'),
      interruptions,
      mayPark,
    };
  });
