import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import { readExecutionGauges } from '../../postgres/operations/metrics';
import type { Client } from '../../postgres/pool';

/** The store's open executions as metrics of a registry: the same from every process. */
export class ExecutionGauges {
  private readonly executions: Gauge<'state'>;
  private readonly items: Gauge<'state'>;
  private readonly waiting: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['state'] as const;
    this.executions = new Gauge({
      name: 'muster_executions',
      help: 'Executions that have not ended, by state',
      labelNames,
      registers,
    });
    this.items = new Gauge({
      name: 'muster_execution_items',
      help: 'Work items of executions that are created or in progress, by state',
      labelNames,
      registers,
    });
    this.waiting = new Gauge({
      name: 'muster_executions_without_nodes',
      help: 'Executions waiting for nodes to answer their roll call',
      registers,
    });
  }

  async read(client: Client): Promise<void> {
    const { executions, items, waiting } = await readExecutionGauges(client);
    for (const [state, n] of Object.entries(executions)) this.executions.set({ state }, n);
    for (const [state, n] of Object.entries(items)) this.items.set({ state }, n);
    this.waiting.set(waiting);
  }
}
