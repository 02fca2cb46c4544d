import fc from 'fast-check';
import { isEnded } from '../../../../workflows/planning/lanes/statuses';
import { STRATEGIES, type StrategyName } from '../../../../workflows/planning/lanes/types';
import { KEYS } from './downstream';
import { answer, ANSWERS, applyNow, cancel, crash, operate, refuseNow, restart, tell } from './happenings';
import { checkAlways } from './invariants';
import type { LaneOptions, SimulatedBatch, SimulatedLane, Simulation } from './simulation';

/**
 * All that the model knows: how many batches were accepted. Everything else is an invariant of the
 * simulation.
 */
export interface Model {
  accepted: number;
}
type QueuerCommand = fc.Command<Model, Simulation>;

class Happening implements QueuerCommand {
  constructor(
    private readonly name: string,
    private readonly happen: (simulation: Simulation) => void,
    private readonly accepts = 0,
  ) {}
  check(): boolean {
    return true;
  }
  run(model: Model, simulation: Simulation): void {
    this.happen(simulation);
    model.accepted += this.accepts;
    if (simulation.batches.length !== model.accepted)
      throw new Error(`C10: expected ${model.accepted} batches, got ${simulation.batches.length}`);
    checkAlways(simulation);
  }
  toString(): string {
    return this.name;
  }
}

const pickOf = <T>(all: readonly T[], pick: number): T | undefined => all[pick % Math.max(1, all.length)];
const laneOf = (simulation: Simulation, pick: number): SimulatedLane =>
  simulation.lanes[pick % simulation.lanes.length]!;
const withStatus = (simulation: Simulation, ...statuses: SimulatedBatch['status'][]) =>
  simulation.batches.filter(({ status }) => statuses.includes(status));

const pick = fc.nat(30);
const keys = fc.uniqueArray(fc.constantFrom(...KEYS), { maxLength: 2 });

const submit = fc
  .record({
    lane: pick,
    reads: keys,
    writes: keys,
    weight: fc.integer({ min: 1, max: 9 }),
    needs: fc.option(pick, { freq: 4 }),
  })
  .map(
    ({ lane, needs, ...batch }) =>
      new Happening(
        `submit(${JSON.stringify({ lane, needs, ...batch })})`,
        (simulation) => {
          const needed = needs === null ? undefined : pickOf(simulation.batches, needs);
          simulation.submit(laneOf(simulation, lane), batch, needed === undefined ? [] : [needed]);
        },
        1,
      ),
  );

const grant = fc.constant(0).map(() => new Happening('grant', (simulation) => void simulation.grant()));

const answers = fc.tuple(pick, fc.constantFrom(...ANSWERS)).map(
  ([at, how]) =>
    new Happening(`answer(${at}, ${how})`, (simulation) => {
      const batch = pickOf(withStatus(simulation, 'submitted'), at);
      if (batch !== undefined) answer(simulation, batch, how);
    }),
);

/** The downstream ends something, in whatever order; one that keeps the order takes the first. */
const ends = fc.tuple(pick, pick, fc.boolean()).map(
  ([lane, at, refuses]) =>
    new Happening(`downstream(${lane}, ${at}, ${refuses ? 'refuses' : 'applies'})`, (simulation) => {
      const { accepted, kind } = laneOf(simulation, lane);
      const batch = kind === 'guaranteed' ? accepted[0] : pickOf(accepted, at);
      if (batch !== undefined) (refuses ? refuseNow : applyNow)(batch);
    }),
);

const tells = fc.tuple(pick).map(
  ([at]) =>
    new Happening(`tell(${at})`, (simulation) => {
      const batch = pickOf(withStatus(simulation, 'pending', 'valid'), at);
      if (batch !== undefined) tell(simulation, batch);
    }),
);

const overdue = pick.map(
  (at) =>
    new Happening(`overdue(${at})`, (simulation) => {
      const batch = pickOf(withStatus(simulation, 'pending', 'valid'), at);
      if (batch !== undefined) simulation.become(batch, 'unknown');
    }),
);

const crashes = fc
  .nat(7)
  .map(
    (bits) =>
      new Happening(`crash(${bits})`, (simulation) => crash(simulation, ({ id }) => ((bits >> (id % 3)) & 1) === 1)),
  );

const cancels = pick.map(
  (at) =>
    new Happening(`cancel(${at})`, (simulation) => {
      const batch = pickOf(
        simulation.batches.filter(({ status }) => !isEnded(status)),
        at,
      );
      if (batch !== undefined) cancel(simulation, batch);
    }),
);

const restarts = fc.constant(0).map(() => new Happening('restart downstream', restart));
const passes = fc
  .constantFrom(500, 2_000, 15_000)
  .map((ms) => new Happening(`pass(${ms})`, (simulation) => void (simulation.now += ms)));

const operates = fc
  .tuple(pick, fc.constantFrom('pause', 'resume', 'resume', 'skip', 'skip', 'fix', 'lighter', 'heavier'))
  .map(
    ([at, what]) =>
      new Happening(`${what}(${at})`, (simulation) => {
        const lane = laneOf(simulation, at);
        if (what === 'pause' || what === 'resume') lane.paused = what === 'pause';
        else if (what === 'lighter' || what === 'heavier') lane.weight = what === 'lighter' ? 1 : lane.weight + 3;
        else {
          const halted = pickOf(
            simulation.lanes.filter(({ haltedBy }) => haltedBy !== null),
            at,
          );
          if (halted !== undefined) operate(simulation, halted, what === 'skip');
        }
      }),
  );

const strategies = fc
  .constantFrom(...(Object.keys(STRATEGIES) as StrategyName[]))
  .map((name) => new Happening(`strategy(${name})`, (simulation) => void (simulation.strategy = name)));

/** Often what makes things go, now and then what breaks them. */
export const anyCommands = fc.commands(
  [
    submit,
    submit,
    submit,
    grant,
    grant,
    answers,
    answers,
    answers,
    ends,
    ends,
    tells,
    tells,
    overdue,
    crashes,
    cancels,
    restarts,
    passes,
    operates,
    strategies,
  ],
  { maxCommands: 60, size: 'max' },
);

const anyLane: fc.Arbitrary<LaneOptions> = fc
  .record({
    kind: fc.constantFrom('non-guaranteed', 'non-guaranteed', 'guaranteed'),
    approach: fc.constantFrom('serial', 'parallel', 'parallel', 'unconstrained'),
    onInvalid: fc.constantFrom('continue', 'continue', 'halt'),
    pendingLimit: fc.constantFrom(null, { stopAt: 3, resumeBelow: 2 }),
    idempotent: fc.boolean(),
    canReconcile: fc.boolean(),
    unsure: fc.boolean(),
  })
  .map((lane): LaneOptions => lane as LaneOptions);
export const anyLanes = fc.array(anyLane, { minLength: 1, maxLength: 3 });
