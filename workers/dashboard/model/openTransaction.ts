import type { Overview } from '../../../workflows/contracts/dashboard';
import { isOldTransaction } from '../../../workflows/planning/oldTransaction';
import type { Finding } from './finding';
import { counted, duration } from './format';
import { hrefOf } from './place';

type OldestTransaction = NonNullable<NonNullable<Overview['beside']>['oldestTransaction']>;

/** Returns what is wrong with a transaction that stays open. */
export const openFor = (oldest: OldestTransaction): Finding[] => {
  const { holder, seconds, transactions, remedy } = oldest;
  if (!isOldTransaction(seconds, transactions)) return [];
  const since = seconds === null ? counted(transactions, 'transaction') : duration(seconds * 1_000);
  return [
    {
      level: 'warn',
      what: `A transaction has been open for ${since}: claims become slower`,
      why: `Of ${holder}. Rows that were deleted since stay in the queues, where each claim passes over them.`,
      next: remedy,
      href: hrefOf([]),
    },
  ];
};
