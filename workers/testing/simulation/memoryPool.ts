import type { Handler } from '../../../handlers/types';
import type { Pool } from '../../../postgres/pool';
import { STATEMENTS } from './statements';
import type { Tables } from './tables';

/** `begin`, `commit` and what else is text alone. */
type Asked = string | { name?: string; values?: readonly unknown[] };

/**
 * Returns a pool whose statements are run on a simulated store. Its transactions cannot be rolled
 * back: nothing in them fails, or the simulation is at fault and ends with the error.
 */
export const memoryPool = (tables: Tables, handler: Handler): Pool => {
  const query = async (asked: Asked): Promise<{ rows: object[]; rowCount: number }> => {
    if (typeof asked === 'string') return { rows: [], rowCount: 0 };
    const { name = '', values = [] } = asked;
    const statement = STATEMENTS[name];
    if (statement === undefined) throw new Error(refusalOf(name));
    const rows = statement(tables, values, handler);
    return { rows, rowCount: rows.length };
  };
  const client = { query, release: () => undefined };
  return { ...client, connect: () => Promise.resolve(client) } as unknown as Pool;
};

const refusalOf = (name: string): string =>
  `Cannot simulate the statement "${name}": the store in memory has none of that name. Test it with startMuster.`;
