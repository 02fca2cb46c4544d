import { WEIGHT_MAX } from '../../../workflows/planning/lanes/limits';
import type { Action, Choices } from './actions';
import { action, REASON } from './actions';
import { counted } from './format';
import { requestOf } from './operations';

/** Changes of lanes, executions, nodes and callbacks. */

export const pauseLane = (service: string): Action =>
  action({
    label: 'Pause lane',
    question: `Pause lane ${service}?`,
    effect: 'No further batch of it is sent. Calls in flight finish.',
    ...requestOf('pauseLane', { service }),
    asks: [REASON],
  });
export const resumeLane = (service: string): Action =>
  action({
    label: 'Resume lane',
    question: `Resume lane ${service}?`,
    effect: 'Its next batch is sent when it is its turn.',
    ...requestOf('resumeLane', { service }),
  });
export const skipHead = (service: string, batch: number): Action =>
  action({
    label: 'Skip batch',
    isFinal: true,
    question: `Go on in lane ${service} without batch ${batch}?`,
    effect: 'The batch that halts the lane is left out for good; those behind it are sent.',
    ...requestOf('skipHead', { service }),
    body: { batch },
  });
export const fixHead = (service: string, batch: number, as: 'applied' | 'again'): Action =>
  action({
    label: as === 'applied' ? 'It was applied' : 'Send again',
    isFinal: true,
    question: `Batch ${batch} halts lane ${service}: ${as === 'applied' ? 'was it applied' : 'send it again'}?`,
    effect:
      as === 'applied'
        ? 'The lane goes on behind it. Be sure that the downstream has it.'
        : 'The downstream gets it again. Be sure that it does not have it.',
    ...requestOf('fixHead', { service }),
    body: { as, batch },
  });
/** Changes a lane's share of the submitters. */
export const weighLane = (service: string, weight: number): Action =>
  action({
    label: 'Set weight',
    question: `Set the weight of lane ${service}, which is ${weight}?`,
    effect: 'With the strategy per-service it is its share of the submitters, from the next grant on.',
    ...requestOf('setLaneWeight', { service }),
    asks: [{ name: 'weight', label: `Weight, 1 to ${WEIGHT_MAX}`, value: String(weight) }],
    bodyWith: (given) => ({ weight: Number(given['weight']) }),
  });
export const pauseLanes = (lanes: number): Action =>
  action({
    label: 'Pause all lanes',
    question: `Pause all ${counted(lanes, 'lane')}?`,
    effect: 'No lane is granted a submitter until they are resumed. Calls in flight finish.',
    ...requestOf('pauseQueuers', {}),
    asks: [REASON],
  });
export const resumeLanes = (lanes: number): Action =>
  action({
    label: 'Resume all lanes',
    question: `Resume all ${counted(lanes, 'lane')}?`,
    effect: 'Lanes that are paused themselves stay so.',
    ...requestOf('resumeQueuers', {}),
  });

export const cancelExecution = (id: string, open: number): Action =>
  action({
    scope: 'submit',
    label: 'Cancel execution',
    isFinal: true,
    question: `Cancel execution ${id}: ${counted(open, 'item')} that have not ended?`,
    effect: 'Running items are interrupted, no more are started, finished ones are kept.',
    ...requestOf('cancelExecution', { execution: id }),
  });

export const drainNode = (node: string, partitions: number, undo: boolean): Action =>
  action({
    label: undo ? 'Undo drain' : 'Drain',
    question: undo ? `Let node ${node} take work again?` : `Drain node ${node}: ${counted(partitions, 'partition')}?`,
    effect: undo
      ? 'It may hold partitions and chunks of executions again.'
      : 'It gives up its partitions, and gets no more of them nor chunks of executions. Calls in flight finish.',
    ...requestOf('drainNode', { node }),
    body: { undo },
  });

/** A pin may name a node that is not there, or by its name. */
const placesFor = (nodes: Choices, pinnedTo: string | null): Choices => [
  ['', 'the balancer chooses'],
  ...nodes,
  ...(pinnedTo === null || nodes.some(([id]) => id === pinnedTo) ? [] : [[pinnedTo, pinnedTo] as const]),
];
/** Pins a partition to a node, or leaves it to the balancer again. */
export const movePartition = (handler: string, no: number, nodes: Choices, pinnedTo: string | null): Action =>
  action({
    label: 'Move',
    question: `Move partition ${no} of ${handler}?`,
    effect: 'Its node gives it up and the other gets it; it stays there for as long as that node is alive.',
    ...requestOf('movePartition', { handler, no }),
    asks: [{ name: 'node', label: 'To', value: pinnedTo ?? '', choices: placesFor(nodes, pinnedTo) }],
    bodyWith: ({ node = '' }) => ({ node: node === '' ? null : node }),
    done: ({ pinnedTo: to }) => (to === null ? 'The balancer was told: it chooses.' : 'The balancer was told.'),
  });

/** Sends a callback again that was not delivered. */
export const sendCallback = (id: number): Action =>
  action({
    label: 'Send again',
    question: `Send callback ${id} again?`,
    effect: DUE,
    ...requestOf('sendCallback', { callback: id }),
    done: sentText,
  });

/** Sends all callbacks again that were given up, of one handler or of all. */
export const sendCallbacks = (handler?: string): Action =>
  action({
    label: 'Send all given up',
    question: `Send all callbacks${handler === undefined ? '' : ` of ${handler}`} again that were given up?`,
    effect: DUE,
    ...requestOf('sendCallbacks', {}),
    body: handler === undefined ? {} : { handler },
    done: sentText,
  });
const DUE = 'They are due at once. A receiver that has one already knows it by its id.';
const sentText: Action['done'] = ({ sent }) => `Due at once: ${counted(Number(sent), 'callback')}.`;
