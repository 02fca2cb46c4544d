import { setTimeout as sleep } from 'node:timers/promises';
import { say } from '../processes/post';
import type { LaneSettings } from '../scenario';
import { held, openClient, pace, runSubmitter, settings, untilDone } from '../processes/submitterProcess';
import { handlerOf, laneHandlers, serviceOf } from './handlers';

/**
 * A client process: submits numbered batches to its own half of the lanes, as far as it is told,
 * and says which were accepted.
 */

const CALL = 50;
const { lanes, partitions } = settings.settings as LaneSettings;

/**
 * The n-th batch of this submitter: its lanes in turn, each lane's batches numbered from 0. Those
 * of `a` and `b` lie between each other.
 */
const batchAt = (i: number) => {
  const [first, half] =
    settings.name === 'a' ? [0, Math.ceil(lanes / 2)] : [Math.ceil(lanes / 2), Math.floor(lanes / 2)];
  const lane = first + (i % half);
  const n = Math.floor(i / half);
  const service = serviceOf(lane);
  return { handler: handlerOf(lane), service, items: [{ id: `${service}-${n}`, payload: { service, n } }] };
};

runSubmitter(async () => {
  const client = openClient(laneHandlers('http://unused', -1, partitions), 'mark-lanes-ready');
  say({ ready: true });
  for (let next = settings.from; ;) {
    if (next >= pace.until) {
      await sleep(20);
      continue;
    }
    const n = Math.min(CALL, pace.until - next);
    const batches = Array.from({ length: n }, (_, i) => batchAt(next + i));
    held.live = n;
    for (const handler of new Set(batches.map((batch) => batch.handler)))
      await untilDone(() =>
        client.submitBatches(
          handler,
          batches.filter((batch) => batch.handler === handler),
        ),
      );
    held.live = 0;
    next += n;
    say({ acked: [next - n, next] });
  }
});
