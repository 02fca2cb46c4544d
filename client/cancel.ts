import type { CancelledTask } from '../postgres/cancel';
import { cancelTasks, findTargetsOf, lockTargets } from '../postgres/cancel';
import { withRetries } from '../postgres/errors';
import { inTransaction } from '../postgres/pool';
import { insertNotices } from '../postgres/settle';
import { wakeNotifier } from '../workflows/wake';
import { taskStateName } from '../workflows/planning/states';
import { checkIds } from './arguments';
import type { ClientContext } from './context';
import { chunksOf, IDS_PER_STATEMENT } from './context';
import { noticesOfEnds } from './notices';
import type { Cancellation } from './views';

/**
 * Cancels tasks that are still created (G9): in no batch yet. Whatever a claim took first goes on and is answered with its state, as is
 * an id that is not there. A transaction for every 1,000 ids; calling it again is safe.
 */
export const cancel = async (client: ClientContext, ids: string | readonly string[]): Promise<Cancellation> => {
  const wanted = checkIds('ids', ids);
  await client.ready();
  const answer: Cancellation = { cancelled: [], notCancelled: [] };
  for (const chunk of chunksOf(wanted, IDS_PER_STATEMENT)) {
    const rows = await withRetries(() => cancelChunk(client, chunk));
    const found = new Map(rows.map((row) => [row.id, row]));
    for (const id of chunk) {
      const row = found.get(id);
      if (row?.cancelled === true) answer.cancelled.push(id);
      else answer.notCancelled.push({ id, state: row === undefined ? 'unknown id' : taskStateName(row.state) });
    }
    const gone = rows.filter((row) => row.cancelled);
    // A freed distinctBy key may let another task go.
    await client.ring(new Set(gone.map((row) => row.targetId)));
    if (gone.some((row) => row.initiatorId !== null)) await wakeNotices(client);
  }
  return answer;
};

const cancelChunk = (client: ClientContext, ids: readonly string[]): Promise<CancelledTask[]> =>
  inTransaction(client.pool, async (tx) => {
    await lockTargets(tx, await findTargetsOf(tx, ids));
    const rows = await cancelTasks(tx, ids);
    const ends = rows.filter((row) => row.cancelled).map((row) => ({ ...row, batchId: null }));
    const notices = noticesOfEnds(ends, { state: 'cancelled' });
    if (notices.length > 0) await insertNotices(tx, notices);
    return rows;
  });

/** The notices are committed: a wake that fails is repeated by the sweeper. */
export const wakeNotices = async (client: ClientContext): Promise<void> => {
  try {
    const failure = await wakeNotifier(await client.temporal(), client.prefix);
    if (failure !== null) client.wakeFailed(failure);
  } catch (error) {
    client.wakeFailed(error as Error);
  }
};
