import type { ExecutionSettings } from '../../activities/executions/settings';
import type { FunctionOptions } from '../../handlers/functions';
import { defineFunction } from '../../handlers/functions';

export type Run = FunctionOptions['run'];
export const functionsOf = (functions: Record<string, Run>): Pick<ExecutionSettings, 'functions' | 'serves'> => ({
  serves: true,
  functions: new Map(Object.entries(functions).map(([name, run]) => [name, defineFunction({ name, run })])),
});
