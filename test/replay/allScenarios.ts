import { executionScenarios } from './executionScenarios';
import { heldScenarios } from './heldScenarios';
import { laneScenarios } from './laneScenarios';
import { nodeScenarios } from './nodeScenarios';
import type { Scenario } from './scenarios';
import { scenarios } from './scenarios';
import { signalScenarios } from './signalScenarios';
import { userScenarios } from './userScenarios';

export const allScenarios: readonly Scenario[] = [
  ...scenarios,
  ...heldScenarios,
  ...laneScenarios,
  ...executionScenarios,
  ...nodeScenarios,
  ...signalScenarios,
  ...userScenarios,
];
