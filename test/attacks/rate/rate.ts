import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listFlag, numberFlag, processFlags, switchFlag } from '../../../examples/support/flags';
import type { Cost } from '../../bench/tenants/aside';
import { startAside } from '../../bench/tenants/aside';
import type { Told } from '../../bench/tenants/honest';
import { Honest, joined, ratio, spreadOf } from '../../bench/tenants/honest';
import type { Rig } from '../../bench/tenants/rig';
import { lostOf, openRig, waitsOf } from '../../bench/tenants/rig';
import { runToEnd } from '../../helpers/runToEnd';
import type { Attack, Attacked } from './attackers';
import { KIND_NAMES } from './attackers';

/** `npm run attack:rate`: what an honest tenant gets while others attack. */
const flags = processFlags(
  {
    name: 'npm run attack:rate --',
    summary:
      'An honest tenant submits at a fixed rate and at its top rate, in turns, before, under and after all kinds of ' +
      'attack at once that are meant to cost others something: half headers and bodies, slow readers, greedy streams ' +
      'and bodies, crooked values, floods over quota. The attackers are one process on this machine.',
    result:
      'One line of JSON per phase on stdout, then the ratios. Exit code 1 if a task of the honest tenant that was ' +
      'accepted has not succeeded, or an invariant of the store is violated; not for a low rate.',
    examples: ['--minutes 10', '--short'],
  },
  {
    minutes: numberFlag(2, { text: 'of the attack', min: 1, unit: 'min' }),
    hostile: numberFlag(3, { text: 'hostile tenants, each with a token', min: 1 }),
    connections: numberFlag(4, {
      text: 'connections per hostile tenant and kind of attack; of some kinds more',
      min: 1,
    }),
    only: listFlag(KIND_NAMES, 'kinds of attack'),
    short: switchFlag('4 s, 1 connection, whatever else is said'),
  },
);
const TURN_MS = flags.short ? 1_000 : 10_000;
/** Turns of each kind in a quiet phase. */
const QUIET_TURNS = flags.short ? 1 : 3;
const ATTACK_MS = flags.short ? 4_000 : flags.minutes * 60_000;
const CONNECTIONS = flags.short ? 1 : flags.connections;
/** Of the fixed rate. */
const EVERY_MS = 50;
/** Connections at the top rate. */
const PARALLEL = 8;
const GOAL = 0.8;
const LIMITS = { maxQueued: 2_000, maxBytes: 1_000_000, maxTargets: 100 };
const WARM_MS = flags.short ? 500 : 3_000;

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

/** What the honest tenant got in one phase. */
interface Phase {
  fixed: Told;
  top: Told;
}

/** Alternates both rates until it is over. */
const phaseOf = async (honest: Honest, isOver: (turn: number) => boolean): Promise<Phase> => {
  const fixed: Told[] = [];
  const top: Told[] = [];
  for (let turn = 0; !isOver(turn); turn++) {
    fixed.push(await honest.paced(EVERY_MS, TURN_MS));
    top.push(await honest.atTop(PARALLEL, TURN_MS));
  }
  return { fixed: joined(fixed), top: joined(top) };
};

const shown = async (rig: Rig, { sent, perS, accepted, refused, latenciesMs }: Told): Promise<object> => ({
  sent,
  accepted: accepted.length,
  refused,
  perS: Math.round(perS * 10) / 10,
  submit: spreadOf(latenciesMs),
  downstream: spreadOf(await waitsOf(rig, accepted)),
});

const report = async (rig: Rig, phase: string, { fixed, top }: Phase, more: object): Promise<void> =>
  print({
    phase,
    fixed: await shown(rig, fixed),
    top: await shown(rig, top),
    processorShares: rig.processorShares(),
    ...more,
  });

const main = async (): Promise<boolean> => {
  const rig = await openRig();
  try {
    const token = await rig.token('honest');
    const callers: Attack['callers'][number][] = [];
    for (let i = 0; i < flags.hostile; i++)
      callers.push({ tenant: `hostile-${i}`, token: await rig.token(`hostile-${i}`, LIMITS) });
    await rig.settle();
    const { port } = rig;
    const honest = new Honest({ port, token, tenant: 'honest', name: 'h', handler: 'shared', target: 'honest' });
    const quiet = (): Promise<Phase> => phaseOf(honest, (turn) => turn >= QUIET_TURNS);
    await honest.paced(EVERY_MS, WARM_MS);
    rig.processorShares();
    const before = await quiet();
    await report(rig, 'before', before, {});
    const attack: Attack = { port, name: 'x', callers, connections: CONNECTIONS, kinds: flags.only };
    const attackers = await startAside<{ attacked: Attacked }>(path.join(__dirname, 'attackers.js'), attack);
    await sleep(WARM_MS);
    rig.processorShares();
    const until = performance.now() + ATTACK_MS;
    const under = await phaseOf(honest, () => performance.now() >= until);
    const shares = rig.processorShares();
    const { attacked, processorShare }: { attacked: Attacked } & Cost = await attackers.stop();
    await rig.drained();
    const told = { processorShares: { ...shares, attackers: processorShare }, attacked };
    await report(rig, 'under attack', under, told);
    rig.processorShares();
    const after = await quiet();
    await rig.drained();
    await report(rig, 'after', after, {});
    honest.close();
    const phases = [before, under, after].flatMap(({ fixed, top }) => [fixed, top]);
    const lost = await lostOf(rig, joined(phases).accepted);
    const { ok } = await rig.client.verify({ full: true });
    const ratios = { fixed: ratio(before.fixed.perS, under.fixed.perS), top: ratio(before.top.perS, under.top.perS) };
    print({ phase: 'all', ratios, goal: GOAL, met: Math.min(ratios.fixed, ratios.top) >= GOAL, lost, verify: ok });
    return lost === 0 && ok;
  } finally {
    await rig.stop();
  }
};

runToEnd(main);
