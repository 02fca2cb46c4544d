import type { Marked } from '../points';
import { runChaosWorker, SOFT_DEADLINE_MS } from '../processes/runWorker';
import type { LaneSettings } from '../scenario';
import { lose, post, settings } from '../processes/workerPost';
import type { Statement } from '../judge/tap';
import { laneHandlers } from './handlers';

/** A worker of the lanes that can be killed at a named point. */

const GRANT = 'grant-batches';
const SETTLE = 'settle-lanes-succeeded';
let granted = 0;
let settled = 0;
const lengthOf = (value: unknown): number => (value as readonly unknown[]).length;
const commits = ({ name, transaction }: Statement, statement: string): boolean =>
  name === 'commit' && (transaction ?? []).includes(statement);
/** Of a turn of the queuer's workflow, not of a submitter that grants itself. */
const isTurn = ({ transaction }: Statement): boolean => (transaction ?? []).includes('insert-submitter');

const marksOf = ([ids, attempts]: readonly unknown[]): Marked[] =>
  (ids as number[]).map((batch, i) => ({ batch, attempt: (attempts as number[])[i]! + 1 }));

const { partitions } = settings.settings as LaneSettings;
/** Far below what a process is stopped for. */
const NODES = { leaseMs: 3_000, maxLeaseMs: 20_000, shutdownLimitMs: 1_500, minimumHoldMs: 500 };

void runChaosWorker(
  (downstream, worker) => laneHandlers(downstream, worker, partitions),
  {
    before: async (statement) => {
      const { name, values } = statement;
      if (name === GRANT) granted = lengthOf(values[0]);
      if (name === SETTLE) settled = lengthOf(values[3]);
      if (commits(statement, GRANT)) {
        if (post.isArmed('before-grant') && (!post.isArmed('before-grant', 3) || isTurn(statement)))
          await post.stay({ point: 'before-grant', live: granted });
        if (post.isArmed('backend-terminated', 0)) await post.stay({ point: 'backend-terminated', live: granted });
      }
      if (name === SETTLE && post.isArmed('before-settle')) await post.stay({ point: 'before-settle', live: settled });
      if (commits(statement, SETTLE) && post.isArmed('backend-terminated', 1))
        await post.stay({ point: 'backend-terminated', live: settled });
    },
    after: async (statement) => {
      const { name, rows, values } = statement;
      if (commits(statement, GRANT)) {
        if (post.isArmed('after-grant') && (!post.isArmed('after-grant', 3) || isTurn(statement)))
          await post.stay({ point: 'after-grant', live: granted });
        if (post.isArmed('backend-terminated', 2))
          lose(await post.stay({ point: 'backend-terminated', live: granted }));
      }
      if ((name === 'mark-granted' || name === 'mark-granted-fenced') && rows > 0 && post.isArmed('before-send'))
        await post.stay({ point: 'before-send', live: rows, marked: marksOf(values) });
      if (name === 'accept-in-lanes' && rows > 0 && post.isArmed('after-accept'))
        await post.stay({ point: 'after-accept', live: rows });
      if (name === 'claim-reads' && rows > 0 && post.isArmed('after-read-claimed'))
        await post.stay({ point: 'after-read-claimed', live: rows });
      if (!commits(statement, SETTLE)) return;
      if (post.isArmed('after-settle')) await post.stay({ point: 'after-settle', live: settled });
      if (post.isArmed('backend-terminated', 3)) lose(await post.stay({ point: 'backend-terminated', live: settled }));
    },
  },
  { softDeadlineMs: SOFT_DEADLINE_MS, nodes: NODES },
);
