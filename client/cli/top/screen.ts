import { duration, table } from '../support/output';
import type { OrderKey, TopRow } from './rows';
import { ORDERS, sortedBy } from './rows';

const HEAD = [
  'handler',
  'waiting',
  'oldest',
  'in flight',
  'calls/s',
  'ok/min',
  'failed',
  'dead',
  'unknown',
  'retried',
  'p50',
  'p99',
  'tasks/call',
  '',
];

/** Returns the table of `muster top`. */
export const topTable = (rows: readonly TopRow[], order: OrderKey): string => {
  if (rows.length === 0) return 'No handler is registered yet: start a worker, or submit a task.';
  const cells = sortedBy(rows, order).map((row) => [
    row.handler,
    row.waiting,
    timeOf(row.oldestMs),
    row.inFlightCalls,
    rounded(row.callsPerS),
    rounded(row.endsPerMin.succeeded),
    rounded(row.endsPerMin.failed),
    rounded(row.endsPerMin.dead),
    rounded(row.endsPerMin.unknown),
    rounded(row.endsPerMin.retried),
    timeOf(row.p50Ms),
    timeOf(row.p99Ms),
    row.tasksPerCall === null ? '-' : rounded(row.tasksPerCall),
    row.note,
  ]);
  return table(HEAD, cells);
};

const timeOf = (ms: number | null): string => (ms === null ? '-' : duration(ms));
const rounded = (n: number): string => (n >= 10 ? Math.round(n) : Math.round(n * 10) / 10).toLocaleString('en-US');

/** Returns the line above the table. */
export const topLine = (at: string, order: OrderKey, problem: string | null): string => {
  const keys = Object.entries(ORDERS).map(([key, { name }]) => `${key} ${name}`);
  const line = `${at}  sorted by ${ORDERS[order].name}  (q quit, ${keys.join(', ')})`;
  return problem === null ? line : `${line}\nCannot read the store: ${problem}. It is tried again.`;
};
