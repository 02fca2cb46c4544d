import type { Context } from '@temporalio/activity';

/**
 * Aborted when what an activity runs is to be interrupted: it was cancelled, or this process ends.
 * Not when the server took the attempt for dead, since its heartbeats did not come (a function
 * blocked the process) or its run is gone: who holds a chunk is said by the chunk's lease alone,
 * and its results count as long as that is held. Of such an attempt nothing more is heard from the
 * server, so the first sign of a shutdown interrupts it.
 */
export const interruption = (context: Context, draining: AbortSignal): AbortSignal => {
  const interrupted = new AbortController();
  context.cancelled.catch((error: unknown) => {
    const details = context.cancellationDetails;
    const given = details?.notFound === true || details?.timedOut === true;
    if (!given || details.cancelRequested || details.workerShutdown || draining.aborted) interrupted.abort(error);
    else draining.addEventListener('abort', () => interrupted.abort(error));
  });
  return interrupted.signal;
};
