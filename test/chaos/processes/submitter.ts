import { setTimeout as sleep } from 'node:timers/promises';
import { chaosHandlers } from './handlers';
import { handlerOf } from '../points';
import { say } from './post';
import { held, openClient, pace, runSubmitter, settings, untilDone } from './submitterProcess';

/**
 * A client process: submits numbered tasks at the rate it is told, in calls of all sizes, and says
 * which were accepted.
 */

/** Sizes from the number alone: mostly few, at times enough for COPY. */
const sizeAt = (n: number): number => {
  const mixed = Math.imul(n + 1, 0x9e3779b1) >>> 8;
  return mixed % 12 === 0 ? 70 : 1 + (mixed % 13);
};

runSubmitter(async () => {
  const { name, from } = settings;
  const client = openClient(chaosHandlers('http://unused', -1), 'lower-due');
  const submit = async (numbers: readonly number[]): Promise<void> => {
    for (const handler of new Set(numbers.map(handlerOf))) {
      const tasks = numbers
        .filter((n) => handlerOf(n) === handler)
        .map((n) => ({ id: `${name}-${n}`, payload: { n, from: name } }));
      held.live = tasks.length;
      await untilDone(() => client.submit(handler, tasks));
      held.live = 0;
    }
  };
  say({ ready: true });
  let next = from;
  let due = 0;
  for (let last = performance.now(); ;) {
    await sleep(50);
    const now = performance.now();
    due = Math.min(due + (pace.rate * (now - last)) / 1_000, 200);
    last = now;
    while (next < pace.until && due >= sizeAt(next)) {
      const n = Math.min(sizeAt(next), pace.until - next);
      await submit(Array.from({ length: n }, (_, i) => next + i));
      say({ acked: [next, next + n] });
      next += n;
      due -= n;
    }
  }
});
