import { simulate } from '../../../workers/testing/simulate';
import type { LaneVerbs } from './play';
import { playSteps } from './play';
import type { LaneScenario, LaneStory } from './scenario';
import { laneHandlerOf, withoutNumbers } from './scenario';

/** Plays a scenario of lanes in a simulated world. */
export const simulatedLanes = async (scenario: LaneScenario): Promise<LaneStory> => {
  let nowMs = (): number => 0;
  const { handler, downstream, calls } = laneHandlerOf(scenario, () => nowMs());
  const world = simulate(handler);
  const begunMs = world.now();
  nowMs = () => world.now() - begunMs;
  await world.lanes.setQueuer({ slots: scenario.slots, strategy: scenario.strategy });
  const { lanes } = world;
  const verbs: LaneVerbs = {
    submit: (tasks) => world.submit(tasks),
    submitBatches: (batches) => world.submitBatches(batches),
    complete: (told) => world.complete(told as Parameters<typeof world.complete>[0]),
    cancel: (batch) => world.cancelBatch(batch),
    handler: async (kind, target) => world[kind](target === null ? {} : { target }),
    all: (kind) => lanes[kind](),
    advance: (ms) => world.advance(ms),
    lane: (step, spare) => {
      const { kind, service } = step;
      if (kind === 'weight') return lanes.setWeight(service, step.weight);
      if (kind === 'pauseLane') return lanes.pause(service);
      if (kind === 'resumeLane') return lanes.resume(service);
      if (kind === 'skip') return lanes.skip(service);
      if (kind === 'lost') return lanes.reportLost(service);
      return lanes.fix(service, kind === 'items' ? { items: [spare] } : { as: kind });
    },
  };
  const refusals = await playSteps(scenario, downstream, verbs);
  return {
    calls,
    refusals,
    batches: world.batches.map(({ atMs, target, reason, tasks }) => ({ atMs, target, reason, tasks })),
    tasks: Object.fromEntries(
      world.tasks.map(({ id, state, attempts, endedAtMs }) => [id, { state, attempts, endedAtMs }]),
    ),
    lanes: Object.fromEntries(
      lanes.list().map(({ service, state, reason, granted, batches }) => [
        service,
        {
          ...{ state, granted, reason: reason === null ? null : withoutNumbers(reason) },
          open: batches.map(({ status, tasks }) => `${status} ${tasks.join(' ')}`),
        },
      ]),
    ),
  };
};
