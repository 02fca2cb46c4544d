import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { STATEMENTS } from './statements';
import type { Tables } from './tables';

/** `begin`, `commit` and what else is text alone. */
type Asked = string | { name?: string; values?: readonly unknown[] };

/**
 * Returns a pool whose statements are run on a simulated store. A rollback takes back what a submit
 * has inserted; nothing else in a transaction fails, or the simulation is at fault and ends with
 * the error.
 */
export const memoryPool = (tables: Tables, handler: Handler): Pool => {
  const query = async (asked: Asked): Promise<{ rows: object[]; rowCount: number }> => {
    if (typeof asked === 'string') {
      if (asked === 'rollback') for (const undo of tables.undo.reverse()) undo();
      tables.undo = [];
      return { rows: [], rowCount: 0 };
    }
    const { name = '', values = [] } = asked;
    const statement = STATEMENTS[name];
    if (statement === undefined) throw new Error(refusalOf(name));
    const rows = statement(tables, values, handler);
    return { rows, rowCount: rows.length };
  };
  // Locks of rows are not simulated: one transaction goes after the other.
  const waiting: (() => void)[] = [];
  let isBusy = false;
  const release = (): void => {
    const next = waiting.shift();
    if (next === undefined) isBusy = false;
    else next();
  };
  const client = { query, release };
  const connect = async (): Promise<object> => {
    if (isBusy) await new Promise<void>((resolve) => waiting.push(resolve));
    isBusy = true;
    return client;
  };
  return { query, connect } as unknown as Pool;
};

const refusalOf = (name: string): string =>
  `Cannot simulate the statement "${name}": the store in memory has none of that name. Test it with startMuster.`;
