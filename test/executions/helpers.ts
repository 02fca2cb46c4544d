import type { ExecutionSettings } from '../../activities/executions/settings';
import type { FunctionCall } from '../../handlers/functions';
import type { ExecuteOptions, Execution, ExecutionView } from '../../client';
import type { NodeOptions } from '../../workers/nodeOptions';
import type { OwnMuster } from '../workflows/ownNode';
import { openOwn } from '../workflows/ownNode';
import type { Run } from './functions';
import { functionsOf } from './functions';

export { functionsOf } from './functions';

/** Nodes of one installation that come and go as a test says, all in this process. */
export interface Fleet extends OwnMuster {
  /** Starts a node; its id and how to stop it. */
  node(executions?: Partial<ExecutionSettings>, options?: Partial<NodeOptions>): Promise<() => Promise<void>>;
  nodeIds(): Promise<string[]>;
  /** Executes the method `run` of a function. */
  run(functionId: string, input: readonly string[][], config?: object, options?: ExecuteOptions): Promise<Execution>;
}

export const openFleet = async (
  functions: Record<string, Run>,
  settings: Partial<ExecutionSettings> = {},
): Promise<Fleet> => {
  const own = await openOwn([]);
  return Object.assign(own, {
    node: (executions: Partial<ExecutionSettings> = {}, options: Partial<NodeOptions> = {}) =>
      own.startNode({
        ...options,
        executions: {
          ...functionsOf(functions),
          retryBaseMs: 10,
          rollCallMs: 500,
          leaseMs: 3_000,
          ...settings,
          ...executions,
        },
      }),
    run: (functionId: string, input: readonly string[][], config: object = {}, options: ExecuteOptions = {}) =>
      own.client.execute({ functionId, method: 'run', config }, input, options),
    nodeIds: async () =>
      (await own.database.pool.query<{ id: string }>('select id from node where batch order by id')).rows.map(
        ({ id }) => id,
      ),
  });
};

/** What ran, by position. */
export class Runs {
  readonly all: { position: number; args: readonly string[] }[] = [];
  readonly note = (args: readonly string[], { position }: FunctionCall): void => void this.all.push({ position, args });
  /** A function that answers its arguments. */
  readonly echo: Run = (args, call) => (this.note(args, call), args.join(' '));
  of(position: number): number {
    return this.all.filter((run) => run.position === position).length;
  }
}

export const lists = (count: number, prefix = 'item'): string[][] =>
  Array.from({ length: count }, (_, i) => [`${prefix}-${i}`]);

export const ended = (execution: Execution, timeoutMs = 30_000): Promise<ExecutionView> =>
  execution.wait({ timeoutMs });
