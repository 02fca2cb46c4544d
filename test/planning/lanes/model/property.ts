import fc from 'fast-check';
import { anyCommands, anyLanes, type Model } from './commands';
import { checkEnd, drain } from './invariants';
import { type Planner, Simulation } from './simulation';

/** Random batches, sets, dependencies, statuses and crashes over random lanes; then calm. */
export const queuerProperty = (planner: Planner, ended: (simulation: Simulation) => void = () => undefined) =>
  fc.property(anyLanes, anyCommands, (options, commands) => {
    const simulation = new Simulation(planner, options);
    fc.modelRun(() => ({ model: { accepted: 0 } satisfies Model, real: simulation }), commands);
    drain(simulation);
    checkEnd(simulation);
    ended(simulation);
  });
