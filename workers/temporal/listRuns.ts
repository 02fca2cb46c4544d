import type { Client } from '@temporalio/client';

/** A run of a workflow, as a list of the server has it. */
export interface ListedRun {
  workflowId: string;
  runId: string;
  /** As the SDK calls it. */
  status: string;
}

/** By the numbers of the server's protocol. */
const STATUSES = [
  ...['UNSPECIFIED', 'RUNNING', 'COMPLETED', 'FAILED'],
  ...['CANCELLED', 'TERMINATED', 'CONTINUED_AS_NEW', 'TIMED_OUT'],
];

/**
 * Lists runs. Not by the SDK's own list: that decodes the memo of each, and fails for one of which
 * no codec of today can.
 */
export async function* listRuns(temporal: Client, query: string, pageSize = 1_000): AsyncGenerator<ListedRun> {
  const { namespace } = temporal.options;
  let nextPageToken: Uint8Array = new Uint8Array();
  do {
    const page = await temporal.workflowService.listWorkflowExecutions({ namespace, query, pageSize, nextPageToken });
    for (const { execution, status } of page.executions)
      yield {
        workflowId: execution!.workflowId!,
        runId: execution!.runId!,
        status: STATUSES[status ?? 0] ?? String(status),
      };
    ({ nextPageToken } = page);
  } while (nextPageToken.length > 0);
}
