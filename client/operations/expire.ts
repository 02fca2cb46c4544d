import type { FailedUnsent } from '../../activities/outcomes/told';
import { UnsentFailures } from '../../activities/outcomes/unsent';
import * as store from '../../postgres/grouping/expiry';
import { withRetries } from '../../postgres/errors';
import { inTransaction } from '../../postgres/pool';
import { isTerminal, taskStateName } from '../../workflows/planning/states';
import type { BulkContext } from '../bulk/step';
import { wakeAfter } from '../bulk/step';
import { cancelIn } from './cancel';

/** The error of a task that expired. */
const EXPIRED = 'Expired: it was still waiting when its expiresAt had passed.';
/** Tasks per transaction. */
export const EXPIRED_AT_ONCE = 500;
/** What is in a batch is looked at again after this: it may come back. */
const AGAIN_MS = 10_000;

/**
 * Ends tasks that still wait, in no batch, although their time has passed: they fail, which `tell`
 * hears after the commit. Returns how many expiries it looked at; fewer than `EXPIRED_AT_ONCE`:
 * those were all, or they wait until the codec has encoded their error, which this does not.
 */
export const expireSome = async (client: BulkContext, tell: (failed: FailedUnsent) => void): Promise<number> => {
  if (!(await withRetries(() => store.hasExpired(client.pool)))) return 0;
  const error = client.sealer === null ? EXPIRED : client.sealer.sealConstant(EXPIRED);
  if (error === null) return 0;
  const { looked, rows } = await withRetries(() =>
    inTransaction(client.pool, async (tx) => {
      const due = await store.takeExpired(tx, EXPIRED_AT_ONCE);
      const ended = await cancelIn(
        tx,
        due.flatMap(({ id }) => id ?? []),
        { state: 'failed', error },
      );
      const inBatches = ended.filter((row) => !row.cancelled && !isTerminal(taskStateName(row.state)));
      const later = new Set(inBatches.map(({ seq }) => seq));
      await store.deleteExpiries(
        tx,
        due.flatMap(({ seq }) => (later.has(seq) ? [] : [seq])),
      );
      await store.putOffExpiries(tx, [...later], AGAIN_MS);
      return { looked: due.length, rows: ended.filter((row) => row.cancelled) };
    }),
  );
  const failures = new UnsentFailures('expired');
  for (const row of rows) failures.add({ ...row, error });
  for (const one of failures.all()) tell(one);
  if (rows.length > 0)
    await wakeAfter(client, { targetIds: rows.map(({ targetId }) => targetId), laneIds: [], hasEnds: true }, false);
  return looked;
};
