import { readdirSync, readFileSync, writeFileSync } from 'node:fs';

/**
 * What a run costs, read from the system: CPU and memory of processes (Linux), and the dev server's
 * own count of billable actions.
 */

const TICKS_PER_SECOND = 100; // USER_HZ: 100 on every Linux that Node runs on

/**
 * CPU seconds of a process so far; with `tree`, of it, its children, and those that it has reaped.
 */
export const cpuSeconds = (pid: number, tree = false): number => {
  const own = ticksOf(pid, tree);
  return (own + (tree ? childrenOf(pid).reduce((sum, child) => sum + ticksOf(child, false), 0) : 0)) / TICKS_PER_SECOND;
};

const ticksOf = (pid: number, reaped: boolean): number => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // After the name, which may hold anything: state is field 3; utime, stime, cutime, cstime are
    // 14 to 17.
    const fields = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
    return fields[11]! + fields[12]! + (reaped ? fields[13]! + fields[14]! : 0);
  } catch {
    return 0;
  }
};

const childrenOf = (pid: number): number[] => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
  } catch {
    return [];
  }
};

/** Peak resident memory in MB since `forgetPeak`. */
export const peakMb = (pid: number): number => Math.round(statusKb(pid, 'VmHWM') / 1024);
export const forgetPeak = (pid: number): void => {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    // Not ours to reset (another user's process): the peak is then since its start.
  }
};

/** Memory of Postgres now, in MB: what each process has for itself, and the shared buffers once. */
export const postgresMb = (pid: number): number => {
  const all = [pid, ...childrenOf(pid)];
  const own = all.reduce((sum, one) => sum + statusKb(one, 'RssAnon'), 0);
  return Math.round((own + Math.max(...all.map((one) => statusKb(one, 'RssShmem')))) / 1024);
};

const statusKb = (pid: number, field: string): number => {
  try {
    return Number(
      new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0,
    );
  } catch {
    return 0;
  }
};

const SETTLED_READS = 4;
const SETTLED_EVERY_MS = 250;

/**
 * The frontend's `action` counters by type which count what a bill
 * would; read until they rest: a workflow reports its last turn a moment after the store has it.
 */
export const readActions = async (metricsUrl: string): Promise<Map<string, number>> => {
  const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((a, b) => a + b, 0);
  let counts = await readCounters(metricsUrl);
  for (let same = 1; same < SETTLED_READS;) {
    await new Promise((resolve) => setTimeout(resolve, SETTLED_EVERY_MS));
    const next = await readCounters(metricsUrl);
    same = sum(next) === sum(counts) ? same + 1 : 1;
    counts = next;
  }
  return counts;
};

const readCounters = async (metricsUrl: string): Promise<Map<string, number>> => {
  const text = await (await fetch(metricsUrl)).text();
  const byType = new Map<string, number>();
  for (const [, labels, value] of text.matchAll(/^action\{([^}]*)\} (\S+)$/gm)) {
    if (!labels!.includes('service_name="frontend"') || labels!.includes('namespace="temporal_system"')) continue;
    const type = /action_type="([^"]*)"/.exec(labels!)?.[1] ?? 'unknown';
    byType.set(type, (byType.get(type) ?? 0) + Number(value));
  }
  return byType;
};

export const actionsSince = (
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Record<string, number> =>
  Object.fromEntries(
    [...after].map(([type, n]) => [type, n - (before.get(type) ?? 0)] as const).filter(([, n]) => n > 0),
  );
