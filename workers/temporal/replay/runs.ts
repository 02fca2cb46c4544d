import type { Client } from '@temporalio/client';
import { isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import type { History } from '@temporalio/common/lib/proto-utils';
import { workflowTaskQueue } from '../../../workflows/naming';
import { GRPC_NOT_FOUND } from '../../../workflows/planning/protocol';
import { listRuns } from '../listRuns';

/** The history of a run, and the id of its workflow. */
export interface RunHistory {
  workflowId: string;
  history: History;
}

/** Returns how many runs of an installation are open; as many are told by `openRuns`. */
export const countOpenRuns = async (temporal: Client, prefix: string): Promise<number> =>
  (await temporal.workflow.count(queryOf(prefix, '='))).count;

/** Reads the histories of the runs of an installation that are open, one after another. */
export const openRuns = (temporal: Client, prefix: string): AsyncGenerator<RunHistory> =>
  histories(temporal, queryOf(prefix, '='), Infinity);

/** Reads the histories of at most `most` ended runs, in the order of the server. */
export const endedRuns = (temporal: Client, prefix: string, most: number): AsyncGenerator<RunHistory> =>
  histories(temporal, queryOf(prefix, '!='), most);

/** A prefix has no quotes. */
const queryOf = (prefix: string, running: '=' | '!='): string =>
  `TaskQueue = '${workflowTaskQueue(prefix)}' AND ExecutionStatus ${running} 'Running'`;

async function* histories(temporal: Client, query: string, most: number): AsyncGenerator<RunHistory> {
  let told = 0;
  for await (const { workflowId, runId } of listRuns(temporal, query)) {
    if (told >= most) return;
    const history = await readHistory(temporal, workflowId, runId);
    if (history === null) continue;
    told++;
    yield { workflowId, history };
  }
}

/** Null: the run was deleted meanwhile, as the server's retention does. */
const readHistory = async (temporal: Client, workflowId: string, runId: string): Promise<History | null> => {
  try {
    return await temporal.workflow.getHandle(workflowId, runId).fetchHistory();
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
};

const isNotFound = (error: unknown): boolean =>
  error instanceof WorkflowNotFoundError || (isGrpcServiceError(error) && error.code === GRPC_NOT_FOUND);
