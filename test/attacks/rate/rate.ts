import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { choiceFlag, listFlag, numberFlag, processFlags, switchFlag } from '../../../examples/support/flags';
import type { Cost } from '../../bench/tenants/aside';
import { PLACES, startAside } from '../../bench/tenants/aside';
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
    each: switchFlag('first each kind alone, then all at once, in turns with quiet ones of 8 s'),
    attackers: choiceFlag(PLACES, 'beside', 'where they compute: as others do, at nice 19, or on the last core alone'),
    rate: numberFlag(undefined, {
      text: 'tasks per second that each hostile tenant may have accepted',
      unset: 'as many as its other quotas let it',
      min: 1,
    }),
    short: switchFlag('4 s, 1 connection, whatever else is said'),
  },
);
const TURN_MS = flags.short ? 1_000 : flags.each ? 4_000 : 10_000;
/** Turns of each kind in a quiet phase. */
const QUIET_TURNS = flags.short ? 1 : 3;
const ATTACK_MS = flags.short ? 4_000 : flags.minutes * 60_000;
/** Of each kind alone. */
const ROUNDS = flags.short ? 1 : 3;
const CONNECTIONS = flags.short ? 1 : flags.connections;
/** Of the fixed rate. */
const EVERY_MS = 50;
/** Connections at the top rate. */
const PARALLEL = 8;
const GOAL = 0.8;
const LIMITS = { maxQueued: 2_000, maxBytes: 1_000_000, maxTargets: 100, maxPerSecond: flags.rate ?? null };
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

interface Attacks {
  under: Phase;
  attacked: Attacked;
  /** Of both cores. */
  processorShares: Record<'api' | 'worker' | 'attackers', number>;
}

const attackWith = async (kinds: Attack['kinds'], forMs: number, { rig, honest, callers }: Stage): Promise<Attacks> => {
  const attack: Attack = { port: rig.port, name: `x${++attacks}`, callers, connections: CONNECTIONS, kinds };
  const script = path.join(__dirname, 'attackers.js');
  const attackers = await startAside<{ attacked: Attacked }>(script, attack, flags.attackers);
  await sleep(WARM_MS);
  rig.processorShares();
  const until = performance.now() + forMs;
  const under = await phaseOf(honest, () => performance.now() >= until);
  const shares = rig.processorShares();
  const { attacked, processorShare }: { attacked: Attacked } & Cost = await attackers.stop();
  await rig.drained();
  return { under, attacked, processorShares: { ...shares, attackers: processorShare } };
};
let attacks = 0;

interface Stage {
  rig: Rig;
  honest: Honest;
  callers: Attack['callers'];
}

const stageOf = async (rig: Rig): Promise<Stage> => {
  const token = await rig.token('honest');
  const callers: Attack['callers'][number][] = [];
  for (let i = 0; i < flags.hostile; i++)
    callers.push({ tenant: `hostile-${i}`, token: await rig.token(`hostile-${i}`, LIMITS) });
  await rig.settle();
  const honest = new Honest({
    port: rig.port,
    token,
    tenant: 'honest',
    name: 'h',
    handler: 'shared',
    target: 'honest',
  });
  await honest.paced(EVERY_MS, WARM_MS);
  return { rig, honest, callers };
};

const kept = (quiet: Phase, under: Phase): Record<'fixed' | 'top', number> => ({
  fixed: ratio(quiet.fixed.perS, under.fixed.perS),
  top: ratio(quiet.top.perS, under.top.perS),
});

/**
 * What each kind takes alone, and all at once: quiet turns and turns under attack follow each
 * other, since other programs take more of the machine at one time than at another.
 */
const compareKinds = async (stage: Stage): Promise<Phase[]> => {
  const phases: Phase[] = [];
  const quietTurn = (): Promise<Phase> => phaseOf(stage.honest, (turn) => turn >= 1);
  for (const kinds of [...flags.only.map((kind) => [kind]), flags.only]) {
    const quiet = [await quietTurn()];
    const under: Attacks[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      under.push(await attackWith(kinds, 2 * TURN_MS, stage));
      quiet.push(await quietTurn());
    }
    const [alone, attacked] = [sumOf(quiet), sumOf(under.map((attack) => attack.under))];
    print({
      phase: kinds.length === 1 ? kinds[0] : 'all kinds',
      kept: kept(alone, attacked),
      topPerS: { alone: whole(alone.top.perS), underAttack: whole(attacked.top.perS) },
      submit: { alone: spreadOf(alone.fixed.latenciesMs), underAttack: spreadOf(attacked.fixed.latenciesMs) },
      processorShares: under.map(({ processorShares }) => processorShares),
      attacked: under.at(-1)!.attacked,
    });
    phases.push(alone, attacked);
  }
  return phases;
};
const whole = (n: number): number => Math.round(n);
const sumOf = (phases: readonly Phase[]): Phase => ({
  fixed: joined(phases.map(({ fixed }) => fixed)),
  top: joined(phases.map(({ top }) => top)),
});

const main = async (): Promise<boolean> => {
  const rig = await openRig();
  try {
    const stage = await stageOf(rig);
    const alone = flags.each ? await compareKinds(stage) : [];
    const quiet = (): Promise<Phase> => phaseOf(stage.honest, (turn) => turn >= QUIET_TURNS);
    rig.processorShares();
    const before = await quiet();
    await report(rig, 'before', before, {});
    const { under, ...told } = await attackWith(flags.only, ATTACK_MS, stage);
    await report(rig, 'under attack', under, told);
    rig.processorShares();
    const after = await quiet();
    await rig.drained();
    await report(rig, 'after', after, {});
    stage.honest.close();
    const phases = [...alone, before, under, after].flatMap(({ fixed, top }) => [fixed, top]);
    const lost = await lostOf(rig, joined(phases).accepted);
    const { ok } = await rig.client.verify({ full: true });
    // Other programs take more of the machine at one time than at another.
    const ratios = kept(sumOf([before, after]), under);
    print({ phase: 'all', ratios, goal: GOAL, met: Math.min(ratios.fixed, ratios.top) >= GOAL, lost, verify: ok });
    return lost === 0 && ok;
  } finally {
    await rig.stop();
  }
};

runToEnd(main);
