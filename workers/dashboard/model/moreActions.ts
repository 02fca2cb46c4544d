import type { Action } from './actions';
import { counted } from './format';
import { apiPath } from './place';

/** Changes of lanes, executions, nodes and callbacks. */

const base = { scope: 'operate', method: 'POST', body: {}, done: () => 'Done.' } as const;
const lanePath = (service: string, verb: string): string => apiPath(['v1', 'lanes', service, verb]);

export const pauseLane = (service: string): Action => ({
  ...base,
  label: 'Pause lane',
  question: `Pause lane ${service}?`,
  effect: 'No further batch of it is sent. Calls in flight finish.',
  path: lanePath(service, 'pause'),
  asks: { name: 'reason', label: 'Reason, which all viewers see' },
});
export const resumeLane = (service: string): Action => ({
  ...base,
  label: 'Resume lane',
  question: `Resume lane ${service}?`,
  effect: 'Its next batch is sent when it is its turn.',
  path: lanePath(service, 'resume'),
});
export const skipHead = (service: string, batch: number): Action => ({
  ...base,
  label: 'Skip batch',
  isFinal: true,
  question: `Go on in lane ${service} without batch ${batch}?`,
  effect: 'The batch that halts the lane is left out for good; those behind it are sent.',
  path: lanePath(service, 'skip'),
});
export const fixHead = (service: string, batch: number, as: 'applied' | 'again'): Action => ({
  ...base,
  label: as === 'applied' ? 'It was applied' : 'Send again',
  isFinal: true,
  question: `Batch ${batch} halts lane ${service}: ${as === 'applied' ? 'was it applied' : 'send it again'}?`,
  effect:
    as === 'applied'
      ? 'The lane goes on behind it. Be sure that the downstream has it.'
      : 'The downstream gets it again. Be sure that it does not have it.',
  path: lanePath(service, 'fix'),
  body: { as },
});
export const pauseLanes = (lanes: number): Action => ({
  ...base,
  label: 'Pause all lanes',
  question: `Pause all ${counted(lanes, 'lane')}?`,
  effect: 'No lane is granted a submitter until they are resumed. Calls in flight finish.',
  path: apiPath(['v1', 'queuers', 'pause']),
  asks: { name: 'reason', label: 'Reason, which all viewers see' },
});
export const resumeLanes = (lanes: number): Action => ({
  ...base,
  label: 'Resume all lanes',
  question: `Resume all ${counted(lanes, 'lane')}?`,
  effect: 'Lanes that are paused themselves stay so.',
  path: apiPath(['v1', 'queuers', 'resume']),
});

export const cancelExecution = (id: string, open: number): Action => ({
  ...base,
  scope: 'submit',
  label: 'Cancel execution',
  isFinal: true,
  question: `Cancel execution ${id}: ${counted(open, 'item')} that have not ended?`,
  effect: 'Running items are interrupted, no more are started, finished ones are kept.',
  path: apiPath(['v1', 'executions', id, 'cancel']),
});

export const drainNode = (node: string, partitions: number, undo: boolean): Action => ({
  ...base,
  label: undo ? 'Undo drain' : 'Drain',
  question: undo ? `Let node ${node} take work again?` : `Drain node ${node}: ${counted(partitions, 'partition')}?`,
  effect: undo
    ? 'It may hold partitions and chunks of executions again.'
    : 'It gives up its partitions, and gets no more of them nor chunks of executions. Calls in flight finish.',
  path: apiPath(['v1', 'nodes', node, 'drain']),
  body: { undo },
});

/** Sends a callback again that was not delivered. */
export const sendCallback = (id: number): Action => ({
  ...base,
  label: 'Send again',
  question: `Send callback ${id} again?`,
  effect: DUE,
  path: apiPath(['v1', 'callbacks', String(id), 'send']),
  done: sentText,
});

/** Sends all callbacks again that were given up, of one handler or of all. */
export const sendCallbacks = (handler?: string): Action => ({
  ...base,
  label: 'Send all given up',
  question: `Send all callbacks${handler === undefined ? '' : ` of ${handler}`} again that were given up?`,
  effect: DUE,
  path: apiPath(['v1', 'callbacks:send']),
  body: handler === undefined ? {} : { handler },
  done: sentText,
});
const DUE = 'They are due at once. A receiver that has one already knows it by its id.';
const sentText: Action['done'] = ({ sent }) => `Due at once: ${counted(Number(sent), 'callback')}.`;
