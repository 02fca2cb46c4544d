import { chaosHandlers, distinctBatches } from './handlers';
import { runChaosWorker } from './runWorker';
import type { Statement } from '../judge/tap';
import { lose, post } from './workerPost';

/** A worker that can be killed at a named point of the grouping loop. */

const count = (json: unknown, of: (row: { seqs: unknown[] }) => number): number =>
  (JSON.parse(json as string) as { seqs: unknown[] }[]).reduce((sum, row) => sum + of(row), 0);

let claimed = 0;
const isClaimCommit = ({ name, transaction }: Statement): boolean =>
  name === 'commit' && (transaction ?? []).includes('insert-batches');
/** Whether keys are still to be freed after this settle. */
const isDistinct = ({ values }: Statement): boolean =>
  (JSON.parse(values[0] as string) as { id: number }[]).some(({ id }) => distinctBatches.has(id));
void runChaosWorker(chaosHandlers, {
  before: async (statement) => {
    const { name, values } = statement;
    if (name === 'insert-batches') claimed = count(values[0], (row) => row.seqs.length);
    if (name === 'insert-batches' && post.isArmed('before-claim', 0))
      await post.stay({ point: 'before-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('before-claim'))
      await post.stay({ point: 'before-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('backend-terminated', 0))
      await post.stay({ point: 'backend-terminated', live: claimed });
    if (name !== 'settle-succeeded') return;
    const live = count(values[0], () => 1);
    if (post.isArmed('before-settle')) await post.stay({ point: 'before-settle', live });
    if (post.isArmed('backend-terminated', 1)) await post.stay({ point: 'backend-terminated', live });
  },
  after: async (statement) => {
    const { name, rows } = statement;
    if (isClaimCommit(statement) && post.isArmed('after-claim'))
      await post.stay({ point: 'after-claim', live: claimed });
    if (isClaimCommit(statement) && post.isArmed('backend-terminated', 2))
      lose(await post.stay({ point: 'backend-terminated', live: claimed }));
    if (name === 'mark-attempts' && rows > 0 && post.isArmed('before-call'))
      await post.stay({ point: 'before-call', live: rows });
    if (name !== 'settle-succeeded' || rows === 0) return;
    if (post.isArmed('after-settle') && (post.isArmed('after-settle', 0) || isDistinct(statement)))
      await post.stay({ point: 'after-settle', live: rows });
    if (post.isArmed('backend-terminated', 3)) lose(await post.stay({ point: 'backend-terminated', live: rows }));
  },
});
