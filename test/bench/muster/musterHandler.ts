import { defineHandler } from '../../../handlers';
import type { Handler } from '../../../handlers';
import { callDownstream } from '../rig/callDownstream';
import { CALLS_IN_FLIGHT } from '../cases';
import type { BenchTask } from '../tasks';

export const HANDLER = 'bench';
export const PREFIX = 'bench';

export interface HandlerSettings {
  port: number;
  maxItems: number;
  lingerMs: number;
}

/** What a user would write for the downstream, all else at its defaults. */
export const benchHandler = ({ port, maxItems, lingerMs }: HandlerSettings): Handler =>
  defineHandler<BenchTask['payload']>({
    name: HANDLER,
    target: (payload) => payload.target,
    limits: { maxItems },
    linger: { lingerMs },
    concurrency: { perTarget: CALLS_IN_FLIGHT, perHandler: CALLS_IN_FLIGHT },
    submit: async (batch) => {
      const answers = await callDownstream(port, batch.target, batch.tasks);
      return { results: answers.map(({ id, ref }) => ({ id, status: 'ok' as const, result: { ref } })) };
    },
  });
