import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { numberFlag, processFlags, switchFlag } from '../../../examples/support/flags';
import { runToEnd } from '../../helpers/runToEnd';
import type { Cost } from './aside';
import { startAside } from './aside';
import type { Flooded, Flooding } from './flood';
import type { Spread, Told } from './honest';
import { Honest, joined, ratio, spreadOf } from './honest';
import type { Rig } from './rig';
import { endedOf, lostOf, openRig, waitsOf } from './rig';

/** `npm run bench:tenants`: does one tenant cost another, and do equals get equal shares? */
const flags = processFlags(
  {
    name: 'npm run bench:tenants --',
    summary:
      'A tenant that submits one task per 50 ms, alone and beside a flood (64 connections, 100 tasks per call), ' +
      'in turns: on a target of its own, in a handler of its own, and on the target of the flood. Then tenants with ' +
      'equal load. One API, one worker, each a process of its own, on a real Postgres that flushes to disk.',
    result:
      'One line of JSON per case on stdout. Exit code 1 if a task that was accepted has not succeeded, or an ' +
      'invariant of the store is violated.',
    examples: ['', '--seconds 20 --turns 5', '--short'],
  },
  {
    seconds: numberFlag(10, { text: 'per turn', min: 1, unit: 's' }),
    turns: numberFlag(3, { text: 'turns of each side', min: 1 }),
    quota: numberFlag(20_000, { text: 'most tasks of the flooding tenant that wait at once (--max-queued)', min: 100 }),
    tenants: numberFlag(4, { text: 'tenants with equal load', min: 2 }),
    short: switchFlag('1 turn of 1 s each, 2 equal tenants, whatever else is said'),
  },
);
const { seconds, turns, tenants } = flags.short ? { seconds: 1, turns: 1, tenants: 2 } : flags;
const forMs = seconds * 1_000;
const EVERY_MS = 50;
const FLOOD = path.join(__dirname, 'flood.js');
const FLOODERS = { connections: 64, tasksPerCall: 100 };
const EQUALS = { connections: 8, tasksPerCall: 20 };
/** Until a flood has reached its height, and so do not count the first connections. */
const WARM_MS = 500;
/** Longest until each of the equal tenants has had a call. */
const FIRST_CALLS_MS = 60_000;

/** Where the two meet. */
interface Case {
  name: string;
  handler: string;
  target: string;
}
const FLOODED = ['flood-0', 'flood-1', 'flood-2', 'flood-3', 'flood-4', 'flood-5', 'flood-6', 'flood-7'];
const CASES: readonly Case[] = [
  { name: 'own target', handler: 'shared', target: 'honest' },
  { name: 'own handler', handler: 'other', target: 'honest' },
  { name: 'same target', handler: 'shared', target: FLOODED[0]! },
];

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

let runs = 0;
const flooding = (rig: Rig, callers: Flooding['callers'], load: typeof FLOODERS): Flooding => ({
  port: rig.port,
  handler: 'shared',
  name: `f${runs++}`,
  callers,
  ...load,
});

interface Side {
  sent: number;
  accepted: number;
  refused: Record<string, number>;
  /** From when the task was due to be sent to its answer. */
  submit: Spread;
  /** From its acceptance to the call of the downstream. */
  downstream: Spread;
}
const sideOf = async (rig: Rig, parts: readonly Told[]): Promise<Side> => {
  const { sent, accepted, refused, latenciesMs } = joined(parts);
  const downstream = spreadOf(await waitsOf(rig, accepted));
  return { sent, accepted: accepted.length, refused, submit: spreadOf(latenciesMs), downstream };
};

const ratiosOf = (alone: Side, beside: Side): object => ({
  submitP50: ratio(alone.submit.p50Ms, beside.submit.p50Ms),
  submitP99: ratio(alone.submit.p99Ms, beside.submit.p99Ms),
  downstreamP50: ratio(alone.downstream.p50Ms, beside.downstream.p50Ms),
  downstreamP99: ratio(alone.downstream.p99Ms, beside.downstream.p99Ms),
});

/** Returns how many tasks that a tenant was told are accepted have not succeeded. */
const missingOf = async (rig: Rig, accepted: Readonly<Record<string, number>>): Promise<number> => {
  const ended = await endedOf(rig);
  return Object.entries(accepted).reduce((sum, [tenant, n]) => sum + Math.max(0, n - (ended[tenant] ?? 0)), 0);
};

/** Returns how many accepted tasks have not succeeded. */
const besideFlood = async (rig: Rig, one: Case, token: string, flooders: Flooding['callers']): Promise<number> => {
  const name = one.name.replace(' ', '-');
  const honest = new Honest({ port: rig.port, token, tenant: 'honest', ...one, name });
  const alone: Told[] = [];
  const beside: Told[] = [];
  const floods: (Flooded & Cost)[] = [];
  await honest.paced(EVERY_MS, WARM_MS);
  for (let turn = 0; turn < turns; turn++) {
    alone.push(await honest.paced(EVERY_MS, forMs));
    await rig.drained();
    const flood = await startAside<Flooded>(FLOOD, flooding(rig, flooders, FLOODERS));
    await honest.paced(EVERY_MS, WARM_MS);
    beside.push(await honest.paced(EVERY_MS, forMs));
    floods.push(await flood.stop());
    await rig.drained();
  }
  honest.close();
  const lost = await lostOf(rig, joined([...alone, ...beside]).accepted);
  const sides = { alone: await sideOf(rig, alone), beside: await sideOf(rig, beside) };
  print({
    measure: 'beside a flood',
    case: one.name,
    ...sides,
    ratios: ratiosOf(sides.alone, sides.beside),
    floods,
    lost,
  });
  for (const { accepted } of floods)
    for (const [tenant, n] of Object.entries(accepted)) flooded[tenant] = (flooded[tenant] ?? 0) + n;
  return lost;
};
/** Tasks that were accepted of the flooding tenants in all cases. */
const flooded: Record<string, number> = {};

const leastToMost = (counts: readonly number[]): number => ratio(Math.max(...counts), Math.min(...counts));

const amongEquals = async (rig: Rig, callers: Flooding['callers']): Promise<void> => {
  const flood = await startAside<Flooded>(FLOOD, flooding(rig, callers, EQUALS));
  await sleep(forMs * turns);
  let ended = await endedOf(rig);
  // On a busy machine a second may be too short for the first calls.
  for (const until = performance.now() + FIRST_CALLS_MS; performance.now() < until; ended = await endedOf(rig)) {
    if (callers.every(({ tenant }) => (ended[tenant] ?? 0) > 0)) break;
    await sleep(WARM_MS);
  }
  const { accepted, refused, processorShare } = await flood.stop();
  await rig.drained();
  const shares = callers.map(({ tenant }) => accepted[tenant] ?? 0);
  const downstream = callers.map(({ tenant }) => ended[tenant] ?? 0);
  print({
    measure: 'equal tenants',
    tenants,
    accepted: shares,
    acceptedLeastToMost: leastToMost(shares),
    downstream,
    downstreamLeastToMost: leastToMost(downstream),
    refused,
    processorShare,
  });
  Object.assign(flooded, accepted);
};

const main = async (): Promise<boolean> => {
  const rig = await openRig();
  try {
    const limits = { maxQueued: flags.quota };
    const flooders = [{ tenant: 'flood', token: await rig.token('flood', limits), targets: FLOODED }];
    const equals: Flooding['callers'][number][] = [];
    for (let i = 0; i < tenants; i++)
      equals.push({ tenant: `equal-${i}`, token: await rig.token(`equal-${i}`, limits), targets: [`equal-${i}`] });
    const token = await rig.token('honest');
    await rig.settle();
    let lost = 0;
    for (const one of CASES) lost += await besideFlood(rig, one, token, flooders);
    await amongEquals(rig, equals);
    lost += await missingOf(rig, flooded);
    const { ok } = await rig.client.verify({ full: true });
    print({ measure: 'all', lost, verify: ok });
    return lost === 0 && ok;
  } finally {
    await rig.stop();
  }
};

runToEnd(main);
