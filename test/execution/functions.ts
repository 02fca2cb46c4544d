import type { ExecutionSettings } from '../../activities/executionSettings';
import type { FunctionOptions } from '../../activities/functions';
import { defineFunction } from '../../activities/functions';

export type Run = FunctionOptions['run'];
export const functionsOf = (functions: Record<string, Run>): Pick<ExecutionSettings, 'functions' | 'serves'> => ({
  serves: true,
  functions: new Map(Object.entries(functions).map(([name, run]) => [name, defineFunction({ name, run })])),
});
