import type { Context } from '@temporalio/activity';

/**
 * Returns a signal that is aborted when what an activity runs is to be interrupted: it was
 * cancelled, or this process ends. Not when the server took the attempt for dead, because its
 * heartbeats did not come (a function blocked the process) or its run is gone: the chunk's lease
 * alone says which node holds a chunk, and its results count as long as the lease is held. The
 * server sends nothing more about such an attempt, so the first sign of a shutdown interrupts it.
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
