import { defineFunction } from '../../../handlers/functions';
import { callbacks as liveCallbacks, handlers as liveHandlers } from '../../liveness/config';
import { givenDownstream } from '../../liveness/handlers';
import { FUNCTION } from './executions';

/** The config file of the workers: all handlers of the liveness runs, and a function. */

export const handlers = liveHandlers;
export const callbacks = liveCallbacks;
/** The kills are not the items' doing. */
export const executions = { maxLosses: 1_000 };
export const functions = [
  defineFunction({
    name: FUNCTION,
    run: async ([n], { executionId, position, signal }) => {
      const response = await fetch(`${givenDownstream()}/run`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ executionId, position, n }),
        signal,
      });
      if (!response.ok) throw new Error(`downstream: ${response.status}`);
      return String(n);
    },
  }),
];
