import { NO_CODEC } from '../../handlers/codec/codecError';
import { hasTokens, isEnvelope } from '../../handlers/codec/envelope';
import { shownVersion } from '../../handlers/contracts/payloadVersion';
import type { Contract } from '../../handlers/types';
import type { TaskRow } from '../../postgres/operations/taskView';
import { readResults, readTasks } from '../../postgres/operations/taskView';
import { isTerminal, TASK_STATES, taskStateName } from '../../workflows/planning/states';
import { checkIds, checkName } from '../arguments';
import type { KnowingContext } from '../context';
import { IDS_PER_STATEMENT } from '../context';
import type { TaskView } from '../views';

export const getTask = async (client: KnowingContext, id: string): Promise<TaskView | null> => {
  const [task] = await getTasks(client, [checkName('id', id)]);
  return task ?? null;
};

export const getTasks = async (client: KnowingContext, ids: readonly string[]): Promise<TaskView[]> => {
  const wanted = checkIds('ids', ids, IDS_PER_STATEMENT);
  await client.ready();
  if (wanted.length === 0) return [];
  const rows = new Map((await readTasks(client.pool, wanted)).map((row) => [row.id, row]));
  const pooled = [...rows.values()].filter(
    ({ paged, state }) => paged && (state === TASK_STATES.succeeded || state === TASK_STATES.failed),
  );
  const results =
    pooled.length === 0
      ? new Map<number, PagedResult>()
      : await readResults(
          client.pool,
          [...new Set(pooled.map((row) => row.batchId!))],
          pooled.map((row) => row.seq),
        );
  return wanted.flatMap((id) => {
    const row = rows.get(id);
    return row === undefined
      ? []
      : [
          toView(
            client.handlers.get(row.handler),
            row,
            row.ownResult === null ? results.get(row.seq) : { result: row.ownResult, note: null },
          ),
        ];
  });
};

interface PagedResult {
  result: string;
  note: string | null;
}

const toView = (contract: Contract | undefined, row: TaskRow, found: PagedResult | undefined): TaskView => {
  const state = taskStateName(row.state);
  return {
    id: row.id,
    handler: row.handler,
    target: row.target,
    state,
    attempts: row.attempts,
    batch: row.batchId,
    createdAt: row.createdAt.toISOString(),
    ...(row.notBefore === null ? {} : { notBefore: row.notBefore.toISOString() }),
    ...shownExpiry(row),
    priority: row.priority,
    ...dependenciesOf(row),
    ...shownVersion(contract, row.version),
    ...(row.trace === null ? {} : { traceparent: row.trace }),
    payload: JSON.parse(row.payload) as unknown,
    ...shownTags(row),
    ...(row.metadata === null ? {} : { metadata: JSON.parse(row.metadata) as Record<string, string> }),
    ...((state === 'succeeded' || state === 'failed') && found !== undefined ? resultOf(found) : {}),
    error: row.error,
    ...encodedOf(row, found),
    ...(isTerminal(state) && row.finishedAt !== null ? { finishedAt: row.finishedAt.toISOString() } : {}),
  };
};

const dependenciesOf = ({ dependsOn, runsAnyway, waitsFor }: TaskRow): Partial<TaskView> =>
  dependsOn === null
    ? {}
    : {
        dependsOn,
        onDependencyFailure: runsAnyway === true ? 'run' : 'fail',
        ...(waitsFor === null ? {} : { waitsFor }),
      };

const resultOf = ({ result, note }: PagedResult): Pick<TaskView, 'result' | 'resultNote'> => ({
  result: JSON.parse(result) as unknown,
  ...(note === null ? {} : { resultNote: note }),
});

/** Returns when a task expires, if it does. */
export const shownExpiry = ({ expiresAt }: { expiresAt: Date | null }): { expiresAt?: string } =>
  expiresAt === null ? {} : { expiresAt: expiresAt.toISOString() };

/** Returns the tags of a task, if it has any. */
export const shownTags = ({ tags }: { tags: string[] | null }): { tags?: string[] } =>
  tags === null || tags.length === 0 ? {} : { tags };

/** Names the encoded fields; a client with the codec decodes them and removes their entries. */
const encodedOf = (
  { payload, metadata, error }: TaskRow,
  found: PagedResult | undefined,
): Pick<TaskView, 'encoded'> => {
  const encoded = {
    ...(isEnvelope(payload) ? { payload: NO_CODEC } : {}),
    ...(isEnvelope(metadata ?? '') ? { metadata: NO_CODEC } : {}),
    ...(isEnvelope(found?.result ?? '') ? { result: NO_CODEC } : {}),
    ...(hasTokens(error ?? '') ? { error: NO_CODEC } : {}),
  };
  return Object.keys(encoded).length === 0 ? {} : { encoded };
};
