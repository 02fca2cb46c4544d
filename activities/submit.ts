import { setMaxListeners } from 'node:events';
import { ApplicationFailure, Context } from '@temporalio/activity';
import type { DispatchAnswer, DispatchInput } from '../workflows/messages';
import type { ActivityDeps } from './deps';
import { DispatchRun } from './calls/dispatchRun';
import { interruption } from './executions/interruption';
import { SubmitterRun } from './lanes/submitter';

/**
 * Runs one dispatch: carries the batches that a claim gave it, as many calls at once as its slots
 * allow, and settles each by itself. After the soft deadline, when stopped, or when another leader
 * waits for its slots, it hands unstarted batches back.
 */
export const submitBatches = async (deps: ActivityDeps, input: DispatchInput): Promise<DispatchAnswer> => {
  const signal = abortOf(deps);
  const gone = signalOf();
  if (input.queuerId !== undefined)
    return new SubmitterRun(deps, { ...input, queuerId: input.queuerId }, signal, gone).run();
  const handler = deps.handlers.get(input.handler);
  if (handler === undefined)
    throw ApplicationFailure.create({
      type: 'UnknownHandler',
      message: `this worker has no handler ${input.handler}; it has ${[...deps.handlers.keys()].join(', ')}`,
    });
  const callers = { ...deps, handler, input, signal, home: deps.homes.queue };
  if (input.partition === undefined) return new DispatchRun({ ...callers, use: null }, gone).run();
  const stopped = new AbortController();
  setMaxListeners(0, stopped.signal);
  const { id, epoch } = input.partition;
  const use = await deps.partitions.use(id, epoch, () => stopped.abort());
  // The partition is another node's: nothing of it is sent, and the next turn reads which node
  // holds it.
  if (use === null) stopped.abort();
  try {
    return await new DispatchRun({ ...callers, use }, gone, stopped.signal).run();
  } finally {
    use?.end();
  }
};

/**
 * Returns a signal that ends the calls: cancelled, or this process stops. Not when the run is gone
 * (ended, begun anew): their true answers count, and they end by themselves.
 */
const abortOf = ({ draining }: Pick<ActivityDeps, 'draining'>): AbortSignal => {
  const signal = interruption(Context.current(), draining);
  setMaxListeners(0, signal); // one per call
  return signal;
};

/** Returns a signal after which no further call is begun. */
const signalOf = (): AbortSignal => {
  const { cancellationSignal } = Context.current();
  setMaxListeners(0, cancellationSignal);
  return cancellationSignal;
};
