import { Findings } from '../chaos/judge/evidence';
import type { StoredTask } from './openWork';

/** Compares what was accepted, what the store says and what the downstream did. Pure. */

export interface Accounts {
  acked: ReadonlyMap<string, readonly string[]>;
  toTell: readonly string[];
  stored: readonly StoredTask[];
  effects: ReadonlyMap<string, number>;
  told: ReadonlySet<string>;
  inversions: number;
  /** What the downstream noticed by itself. */
  found: readonly string[];
}
export interface Balance {
  accepted: number;
  succeeded: number;
  lost: number;
  stuck: number;
  /** Ended otherwise than all-success allows. */
  failed: number;
  doubled: number;
  disordered: number;
  /** Ends that nobody told of. */
  untold: number;
  findings: string[];
}

const UNKNOWN = 3;
const SUCCEEDED = 4;

export const judgeBalance = ({ acked, toTell, stored, effects, told, inversions, found }: Accounts): Balance => {
  const findings = new Findings();
  const { find } = findings;
  found.forEach(find);
  const ids = [...acked.values()].flat();
  const balance: Balance = {
    accepted: ids.length,
    succeeded: 0,
    lost: findings.lost(ids, new Set(stored.map(({ id }) => id))),
    stuck: 0,
    failed: 0,
    doubled: [...effects.values()].filter((times) => times > 1).length,
    disordered: inversions,
    untold: 0,
    findings: findings.all,
  };
  for (const { id, handler, state } of stored)
    if (state === SUCCEEDED) {
      balance.succeeded++;
      if (effects.has(id)) continue;
      balance.lost++;
      find(`lost: ${id} is succeeded and the downstream never saw it`);
    } else if (state <= UNKNOWN) {
      balance.stuck++;
      find(`stuck: ${id} of ${handler} in state ${state}`);
    } else {
      balance.failed++;
      find(`failed: ${id} of ${handler} ended in state ${state}`);
    }
  const untold = toTell.filter((id) => !told.has(id));
  balance.untold = untold.length;
  for (const id of untold) find(`untold: nobody was told of the end of ${id}`);
  return balance;
};
