import Table from 'cli-table3';
import { choicesFlag, numberFlag, numbersFlag, processFlags } from '../../../examples/support/flags';
import { startTemporalDev } from '../../../workers/embedded';
import { CASES, scaled } from '../cases';
import type { BenchCase } from '../cases';
import { actionsSince, readActions } from '../measure';
import type { Servers } from '../rig/servers';
import { startServers } from '../rig/servers';
import { measureRun } from '../run';
import { openMuster } from '../sides';
import type { Cluster } from '../../cluster/cluster';
import { startCluster } from '../../cluster/cluster';
import { buildPrograms } from '../../cluster/programs';

/** `npm run bench:cluster`: what Muster asks of a real Temporal server, and of the dev server. */

const flags = processFlags(
  {
    name: 'npm run bench:cluster --',
    summary: "Temporal's actions per task and batch on a real Temporal server, beside the dev server.",
    result: 'One line of JSON per case and server on stdout, a table on stderr. Needs Go 1.26 and a module proxy.',
    examples: ['', '--shards 4 --case live --tasks 20000'],
  },
  {
    case: choicesFlag(
      CASES.map(({ name }) => name),
      'what is measured',
    ),
    shards: numbersFlag([4, 512], { text: 'history shards of each real server', min: 1, max: 16_384 }),
    tasks: numberFlag(undefined, { text: 'tasks of each case', min: 1, unset: 'what the case has' }),
    idle: numberFlag(60, { text: 'how long nothing is submitted then', unit: 's', min: 1 }),
    price: numberFlag(50, { text: 'dollars per million actions', min: 1 }),
  },
);

interface Counted {
  server: string;
  case: string;
  tasks: number;
  batches: number;
  actionsPerTask: number;
  actionsPerBatch: number;
  actionsByType: Record<string, number>;
  tasksPerSecond: number;
  /** Of the server, with all of its services. */
  serverCpuUsPerTask: number;
  idleActionsPerHour: number;
  dollarsPerMillionTasks: number;
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const sum = (actions: Readonly<Record<string, number>>): number => Object.values(actions).reduce((a, b) => a + b, 0);

/** A new store and workers per case, on the same server; then nothing is done for a while. */
const count = async (servers: Servers, server: string, benchCase: BenchCase): Promise<Counted> => {
  const { side, stop } = await openMuster(servers, benchCase, []);
  try {
    const { metricsUrl } = servers.temporal;
    await measureRun(servers, side, scaled(benchCase, Math.min(2_000, benchCase.tasks)), 'warm');
    const measure = await measureRun(servers, side, benchCase, 'r1');
    const ended = await readActions(metricsUrl);
    await new Promise((resolve) => setTimeout(resolve, flags.idle * 1_000));
    const idle = sum(actionsSince(ended, await readActions(metricsUrl)));
    const actions = sum(measure.actions);
    const { tasks } = benchCase;
    return {
      server,
      case: benchCase.name,
      tasks,
      batches: measure.calls,
      actionsPerTask: Number((actions / tasks).toFixed(5)),
      actionsPerBatch: Number((actions / measure.calls).toFixed(2)),
      actionsByType: measure.actions,
      tasksPerSecond: Math.round(tasks / measure.seconds),
      serverCpuUsPerTask: Math.round((measure.cpuSeconds.temporal / tasks) * 1e6),
      idleActionsPerHour: Math.round((idle * 3_600) / flags.idle),
      dollarsPerMillionTasks: Number(((actions / tasks) * flags.price).toFixed(3)),
    };
  } finally {
    await stop();
  }
};

const tableOf = (all: readonly Counted[]): string => {
  const table = new Table({
    head: [
      'server',
      'case',
      'tasks/batches',
      'actions',
      'per task',
      'per batch',
      'idle per hour',
      '$ per million tasks',
    ],
    style: { head: [], border: [] },
  });
  for (const one of all)
    table.push([
      one.server,
      one.case,
      `${one.tasks}/${one.batches}`,
      Object.entries(one.actionsByType)
        .map(([type, n]) => `${type} ${n}`)
        .join(', '),
      one.actionsPerTask,
      one.actionsPerBatch,
      one.idleActionsPerHour,
      one.dollarsPerMillionTasks,
    ]);
  return table.toString();
};

type Started = Pick<Cluster, 'pid' | 'address' | 'metricsUrl' | 'stop'>;

const main = async (): Promise<void> => {
  const programs = buildPrograms(say);
  const base = await startServers(false);
  const counted: Counted[] = [];
  const each: readonly (readonly [string, () => Promise<Started>])[] = [
    ['dev server', () => startTemporalDev({ ui: false })],
    ...flags.shards.map((n) => [`${n} shards`, () => startCluster(programs, n)] as const),
  ];
  try {
    for (const [name, start] of each) {
      const temporal = await start();
      try {
        for (const caseName of flags.case) {
          const found = CASES.find((one) => one.name === caseName)!;
          const benchCase = scaled(found, flags.tasks ?? found.tasks);
          const servers: Servers = { ...base, temporal: { ...base.temporal, ...temporal } };
          counted.push(await count(servers, name, benchCase));
          process.stdout.write(`${JSON.stringify(counted.at(-1))}\n`);
        }
      } finally {
        await temporal.stop();
      }
    }
    say(tableOf(counted));
  } finally {
    await base.stop();
  }
};

main().catch((error: unknown) => {
  say(error instanceof Error ? (error.stack ?? error.message) : String(error));
  process.exitCode = 1;
});
