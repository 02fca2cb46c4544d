import type { Connection } from '@temporalio/client';
import { startTemporalDev, type TemporalDev, type TemporalDevOptions } from '../../workers/embedded';
import { connectTo } from '../helpers/database';

/** Dev servers of a test, and connections to them, which end with it. */
export class DevServers {
  private readonly started: TemporalDev[] = [];
  private readonly connections: Connection[] = [];

  /** Starts a server. Tests talk to loopback and to the package index only. */
  readonly start = async (options: TemporalDevOptions = {}): Promise<TemporalDev> => {
    const server = await startTemporalDev(options);
    this.started.push(server);
    return server;
  };

  readonly connect = async ({ address }: TemporalDev): Promise<Connection> => {
    const connection = await connectTo({ address });
    this.connections.push(connection);
    return connection;
  };

  readonly stop = async (): Promise<void> => {
    await Promise.all(this.connections.splice(0).map((connection) => connection.close()));
    await Promise.all(this.started.splice(0).map((server) => server.stop()));
  };
}

export const startWorkflow = (connection: Connection, namespace: string, workflowId: string): Promise<unknown> =>
  connection.workflowService.startWorkflowExecution({
    ...{ namespace, workflowId, requestId: workflowId },
    ...{ workflowType: { name: 'any' }, taskQueue: { name: 'queue' } },
  });
