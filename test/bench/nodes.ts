import Table from 'cli-table3';
import { numberFlag, processFlags, switchFlag } from '../../examples/support/flags';
import type { MovesMeasure, PlanMeasure } from './measures/nodesMeasures';
import { movesOf, planOf } from './measures/nodesMeasures';
import type { StoreMeasure } from './measures/nodesStore';
import { storeOf } from './measures/nodesStore';

/**
 * `npm run bench:nodes -- [--times N] [--short]`: how long the assignor thinks, and how many
 * partitions a join and a leave move against the theoretical minimum. No servers: it is a pure
 * function. One JSON line a measure on stdout, tables on stderr; exit code 1 if a plan of 2,000
 * partitions x 200 nodes takes a second, or if more than the minimum moves.
 */
const flags = processFlags(
  {
    name: 'npm run bench:nodes --',
    summary:
      'How long the assignor of partitions to nodes thinks, and how many partitions a join and a leave move against the theoretical minimum. A pure function: no servers, but with --store.',
    result:
      'One line of JSON a measure on stdout, tables on stderr. Exit code 1 if a plan of 2,000 partitions for 200 nodes takes a second, or if more than the minimum moves.',
    examples: ['', '--short', '--times 10', '--store'],
  },
  {
    times: numberFlag(3, { text: 'how often each plan is made; the quickest counts', min: 1 }),
    short: switchFlag('without 100,000 partitions on 1,000 nodes, and fewer joins and leaves'),
    store: switchFlag('also what the coordination of such fleets costs an embedded Postgres, at a lease of 10 s'),
  },
);

const SIZES = [
  [200, 20],
  [2_000, 200],
  [100_000, 1_000],
] as const;
/** The one that must be planned in less than `MOST_MS`. */
const DEMANDED = 2_000;
const MOST_MS = 1_000;
/** The default. */
const LEASE_MS = 10_000;

const n = (value: number): string => value.toLocaleString('en-US');
const plain = { style: { head: [], border: [] } };

const plansTable = (plans: readonly PlanMeasure[]): string => {
  const table = new Table({
    ...plain,
    head: ['partitions', 'nodes', 'by', 'first ms', 'settled ms', 'one joins ms', 'one leaves ms', 'twice as many ms'],
  });
  for (const one of plans)
    table.push([
      n(one.partitions),
      n(one.nodes),
      one.by,
      n(one.firstMs),
      n(one.settledMs),
      n(one.joinMs),
      n(one.leaveMs),
      n(one.doubleMs),
    ]);
  return table.toString();
};

const movesTable = (all: readonly MovesMeasure[]): string => {
  const table = new Table({
    ...plain,
    head: ['partitions', 'nodes', 'event', 'times', 'moves', 'fewest', 'ratio', 'rounds'],
  });
  for (const one of all)
    table.push([
      n(one.partitions),
      n(one.nodes),
      one.event,
      n(one.times),
      n(one.moves),
      n(one.fewest),
      one.ratio.toFixed(2),
      one.rounds,
    ]);
  return table.toString();
};

const storesTable = (all: readonly StoreMeasure[]): string => {
  const table = new Table({
    ...plain,
    head: [
      'partitions',
      'nodes',
      'a node, each third of a lease: beat/renew/read/silence ms',
      'a round: read/write ms',
      'at rest, a second: statements',
      'rows renewed',
      'cores busy',
      'WAL kB',
    ],
  });
  for (const one of all)
    table.push([
      n(one.partitions),
      n(one.nodes),
      `${one.touchMs}/${one.renewMs}/${one.heldMs}/${one.silenceMs}`,
      `${one.roundReadMs}/${one.roundWriteMs}`,
      n(one.statements),
      n(one.rowsRenewed),
      one.coresBusy,
      n(Math.round(one.walBytes / 1_000)),
    ]);
  return table.toString();
};

const slowest = ({ firstMs, settledMs, joinMs, leaveMs, doubleMs }: PlanMeasure): number =>
  Math.max(firstMs, settledMs, joinMs, leaveMs, doubleMs);

async function main(): Promise<void> {
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  const print = (measure: object): void => void process.stdout.write(`${JSON.stringify(measure)}\n`);
  const sizes = flags.short ? SIZES.slice(0, 2) : SIZES;
  const plans: PlanMeasure[] = [];
  for (const by of ['count', 'weight'] as const)
    for (const [partitions, nodes] of sizes) print(plans[plans.push(planOf(partitions, nodes, by, flags.times)) - 1]!);
  const moves: MovesMeasure[] = [];
  for (const [partitions, nodes] of SIZES.slice(0, 2))
    for (const event of ['join', 'leave'] as const)
      print(moves[moves.push(movesOf(partitions, nodes, event, flags.short ? 5 : 19)) - 1]!);
  const stores: StoreMeasure[] = [];
  for (const [partitions, nodes] of flags.store ? sizes.slice(1) : [])
    print(stores[stores.push(await storeOf(partitions, nodes, LEASE_MS)) - 1]!);
  say(plansTable(plans));
  say(movesTable(moves));
  if (stores.length > 0) say(storesTable(stores));
  const slow = plans.filter((plan) => plan.partitions === DEMANDED && slowest(plan) >= MOST_MS);
  const more = moves.filter(({ ratio }) => ratio !== 1);
  for (const plan of slow)
    say(
      `missed: a plan of ${n(plan.partitions)} partitions for ${n(plan.nodes)} nodes by ${plan.by} took ${n(slowest(plan))} ms, less than ${n(MOST_MS)} asked`,
    );
  for (const one of more) say(`missed: ${one.event}: ${n(one.moves)} moves where ${n(one.fewest)} do`);
  if (slow.length + more.length > 0) process.exitCode = 1;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exitCode = 1;
});
