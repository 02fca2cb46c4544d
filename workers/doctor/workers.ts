import type { HandlerStatus } from '../../workflows/contracts/handler';
import type { NodeView } from '../../workflows/contracts/node';
import type { Check } from './check';
import { failed, listed, ok, warning } from './check';

/**
 * Judges the handlers: of the config, whether a live worker serves each, and which; of the store,
 * whether anything stands still. `names`: the config's.
 */
export const checkHandlers = (
  names: readonly string[],
  all: readonly HandlerStatus[],
  nodes: readonly ServingNode[] = [],
): Check[] => {
  const stored = new Map(all.map((one) => [one.handler, one]));
  const unserved = [...new Set([...names, ...all.filter(waits).map(({ handler }) => handler)])].filter(
    (name) => stored.get(name)?.served !== true,
  );
  const served = all.filter((one) => one.served).map(({ handler }) => handler);
  // The notifier and executions are listed with every handler.
  const still = all.flatMap((one) => one.stalled);
  const reads = still.filter(({ kind }) => kind === 'read');
  const stalled = new Map(still.filter(({ kind }) => kind !== 'read').map(({ workflowId, ms }) => [workflowId, ms]));
  const paused = all.filter((one) => one.paused !== null).map(({ handler }) => handler);
  return [
    unserved.length === 0
      ? ok('handlers', served.length === 0 ? 'none in the config, and none has work' : whoServes(served, nodes))
      : warning(
          'handlers',
          `no live worker serves ${unserved.join(', ')}`,
          'Start muster worker with the config that has them; their tasks wait meanwhile.',
        ),
    ...(paused.length === 0
      ? []
      : [warning('paused', `paused: ${paused.join(', ')}`, 'muster resume <handler>, once the reason is gone.')]),
    stalled.size === 0
      ? ok('runs', 'none stands still')
      : failed(
          'runs',
          [...stalled].map(([workflowId, ms]) => `${workflowId} has stood for ${Math.round(ms / 1_000)} s`).join('; '),
          'A worker ends such a run and begins it anew within a minute; if none does, look at the log of the workers.',
        ),
    ...(reads.length === 0
      ? []
      : [
          warning(
            'results',
            reads.map(({ name, ms }) => `batch ${name}: none for ${Math.round(ms / 1_000)} s`).join('; '),
            'Look at the downstream; a read is repeated after poll.idleMs without a result.',
          ),
        ]),
  ];
};

type ServingNode = Pick<NodeView, 'id' | 'name' | 'handlers' | 'alive' | 'draining'>;

const whoServes = (served: readonly string[], nodes: readonly ServingNode[]): string => {
  const by = (handler: string): string =>
    listed(
      nodes
        .filter(({ handlers, alive, draining }) => alive && !draining && handlers.includes(handler))
        .map(({ id, name }) => name ?? id),
    );
  return `${served.length} served by live workers: ${listed(served.map((handler) => `${handler} by ${by(handler) || 'one that drains'}`))}`;
};

const waits = ({ counts }: HandlerStatus): boolean => counts.created + counts.batched + counts['in-progress'] > 0;
