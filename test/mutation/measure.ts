import type { DryRun, Touching } from './coverage';
import { dryRun, touchingOf } from './coverage';
import type { Folder } from './folders';
import { secondsOf } from './folders';
import type { Judged } from './judge';
import { judge } from './judge';
import type { Mutant } from './mutants/mutant';
import type { WarmJest } from './warmJest';

export interface Watcher {
  phase: (what: string, total: number) => void;
  done: (n: number) => void;
  judged: (one: Judged) => void;
}

export interface Plan {
  folder: Folder;
  mutants: readonly Mutant[];
  /** Test files that load one of them. */
  tests: readonly string[];
  /** With servers: test files per mutant, and how long they are looked for. */
  most: number;
  dryMs: number;
}

/**
 * Judges mutants of a folder. Of a folder with servers the tests are run, those of the same system
 * and the shortest first, until each mutant's place was executed by `most` of them or
 * `dryMs` have passed: more of them cost minutes for each mutant that survives.
 */
export const measure = async (jests: readonly WarmJest[], plan: Plan, watcher: Watcher): Promise<Judged[]> => {
  const { folder, mutants } = plan;
  const runs = await runDry(jests, plan, watcher);
  const touching = touchingOf(mutants, runs, !folder.hasServers);
  const order = new Order();
  watcher.phase('mutants', mutants.length);
  const results: Judged[] = [];
  let done = 0;
  await spread(jests, mutants, async (jest, mutant, i) => {
    const chosen = folder.hasServers ? nearest(mutant.file, touching[i]!).slice(0, plan.most) : touching[i]!;
    const one = await judge(jest, mutant, order.of(mutant.file, chosen));
    results[i] = one;
    order.learn(one);
    watcher.judged(one);
    watcher.done(++done);
  });
  return results;
};

/** Hands the items out in their order, one at a time to each process, until one cannot go on. */
const spread = async <T>(
  jests: readonly WarmJest[],
  items: readonly T[],
  work: (jest: WarmJest, item: T, i: number) => Promise<void>,
): Promise<void> => {
  const rest = [...items.entries()];
  await Promise.all(
    jests.map(async (jest) => {
      for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
        const [i, item] = next;
        await work(jest, item, i).catch((error: unknown) => {
          rest.length = 0;
          throw error;
        });
      }
    }),
  );
};

/**
 * Puts the tests of the same system first: what others execute on their way they do not look at.
 */
const nearest = (file: string, touching: readonly Touching[]): Touching[] => {
  const rooms = new Set(file.split('/').slice(1, -1));
  const isFar = ({ file: test }: Touching): boolean => !test.split('/').some((part) => rooms.has(part));
  return [...touching].sort((a, b) => Number(isFar(a)) - Number(isFar(b)));
};

/** Runs first what has seen most mutants of a file in the least time. */
class Order {
  private readonly seen = new Map<string, number>();

  of(file: string, touching: readonly Touching[]): Touching[] {
    const price = ({ file: test, ms }: Touching): number =>
      ms / (1 + SEEN_AGAIN * (this.seen.get(`${file} ${test}`) ?? 0));
    return [...touching].sort((a, b) => price(a) - price(b));
  }

  learn({ mutant, by }: Judged): void {
    if (by === undefined) return;
    const key = `${mutant.file} ${by}`;
    this.seen.set(key, (this.seen.get(key) ?? 0) + 1);
  }
}
const SEEN_AGAIN = 3;

const runDry = async (
  jests: readonly WarmJest[],
  { folder, mutants, tests, most, dryMs }: Plan,
  watcher: Watcher,
): Promise<DryRun[]> => {
  const rooms = new Set(mutants.flatMap(({ file }) => file.split('/').slice(1, -1)));
  const isNear = (file: string): boolean => file.split('/').some((part) => rooms.has(part));
  const order = folder.hasServers ? [...tests].sort((a, b) => rankOf(a, isNear) - rankOf(b, isNear)) : tests;
  const hits = mutants.map(() => 0);
  const runs: DryRun[] = [];
  const since = performance.now();
  watcher.phase('tests without mutants', order.length);
  let done = 0;
  await spread(jests, order, async (jest, file) => {
    if (folder.hasServers && (performance.now() - since > dryMs || hits.every((n) => n >= most))) return;
    const run = await dryRun(jest, file, mutants);
    watcher.done(++done);
    if (run.outcome.hasFailed) {
      if (!folder.hasServers) throw new Error(`Cannot measure: ${file} fails without a mutant. ${run.outcome.failure}`);
      process.stderr.write(`left out: ${file} fails without a mutant: ${run.outcome.failure}\n`);
      return;
    }
    for (const id of new Set(run.outcome.hits.flatMap(({ spots }) => spots))) hits[id]!++;
    runs.push(run);
  });
  return runs;
};

const FAR_SECONDS = 10;
const rankOf = (file: string, isNear: (file: string) => boolean): number =>
  secondsOf(file) + (isNear(file) ? 0 : FAR_SECONDS);
