import { escapeIdentifier } from 'pg';

/** The table of a sink, and the columns that it writes. */
export interface SinkTable {
  /** The name of the table, with its schema if it has one: `shop.orders`. */
  readonly table: string;
  /** The column that gets the task's id; it has a unique index. */
  readonly idColumn: string;
  /** The other columns that are written, by the names of the row's fields. */
  readonly columns: readonly string[];
}

/**
 * Returns the statement that inserts rows, given as one JSON array, and leaves out those whose id
 * is there. The names come from the config file alone, and are quoted.
 */
export function insertStatement({ table, idColumn, columns }: SinkTable): string {
  const name = table.split('.').map(escapeIdentifier).join('.');
  const listed = [idColumn, ...columns].map(escapeIdentifier).join(', ');
  return `insert into ${name} (${listed})
select ${listed}
from jsonb_populate_recordset(null::${name}, $1::jsonb)
on conflict (${escapeIdentifier(idColumn)}) do nothing`;
}
