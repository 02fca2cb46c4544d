import { simulate } from '../../workers/testing/simulate';
import type { Scenario, Story } from './scenario';
import { EPILOGUE_MS, handlerOf, inputOf, onlyStale } from './scenario';

/** Plays a scenario in a simulated world. */
export const simulated = async (scenario: Scenario): Promise<Story> => {
  const { handler, downstream } = handlerOf(scenario, 'simulated');
  const world = simulate(handler);
  let next = 0;
  for (const step of scenario.steps) {
    const target = 'target' in step && step.target !== null ? { target: step.target } : {};
    if (step.kind === 'submit')
      await world.submit(
        step.tasks.map((task) => ({
          ...inputOf(task, next++, (place) => `t${place}`),
          ...(task.inMs === null ? {} : { notBefore: world.now() + task.inMs }),
        })),
      );
    else if (step.kind === 'advance') await world.advance(step.ms);
    else if (step.kind === 'complete') {
      const oldest = downstream.takeOldest();
      if (oldest !== null) await world.complete(oldest).catch(onlyStale);
    } else if (step.kind === 'pause') world.pause(target);
    else if (step.kind === 'set') await world.setTarget(step.target, step.overrides);
    else await world[step.kind](target);
  }
  await world.advance(EPILOGUE_MS);
  return {
    batches: world.batches.map(({ atMs, target, reason, tasks }) => ({ atMs, target, reason, tasks })),
    tasks: Object.fromEntries(
      world.tasks.map(({ id, state, attempts, endedAtMs }) => [id, { state, attempts, endedAtMs }]),
    ),
  };
};
