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
  const stalled = new Map(all.flatMap((one) => one.stalled.map(({ workflowId, ms }) => [workflowId, ms] as const)));
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
