import type pg from 'pg';

/**
 * What a program of the version before relies on in the tables, from the catalog: each thing by its
 * name, with what must not change.
 */
type Catalog = Map<string, { what: string; table: string; columns: string[]; required: boolean }>;

const SQL = `
select 'column ' || c.relname || '.' || a.attname as name, format_type(a.atttypid, a.atttypmod) as what, c.relname as table,
  array[a.attname::text] as columns, a.attnotnull and not a.atthasdef and a.attidentity = '' as required
from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
union all
select 'constraint on ' || c.relname || ': ' || pg_get_constraintdef(k.oid), '', c.relname,
  array(select attname::text from pg_attribute where attrelid = c.oid and attnum = any (k.conkey)), true
from pg_constraint k join pg_class c on c.oid = k.conrelid
where k.connamespace = $1::regnamespace and k.contype in ('p', 'u', 'c', 'f', 'x')
union all
select 'unique index ' || pg_get_indexdef(i.indexrelid), '', c.relname,
  array(select attname::text from pg_attribute where attrelid = c.oid and attnum = any (i.indkey)), true
from pg_index i join pg_class c on c.oid = i.indrelid
where c.relnamespace = $1::regnamespace and i.indisunique and not exists (select from pg_constraint k where k.conindid = i.indexrelid)
union all
select 'function ' || p.proname, pg_get_functiondef(p.oid), '', '{}', false from pg_proc p where p.pronamespace = $1::regnamespace and p.prokind in ('f', 'p')`;

export const readCatalog = async (db: pg.ClientBase, schema: string): Promise<Catalog> => {
  const { rows } = await db.query<{ name: string; what: string; table: string; columns: string[]; required: boolean }>(
    SQL,
    [schema],
  );
  return new Map(rows.map(({ name, ...rest }) => [name, rest]));
};

/**
 * Returns what a program that was written for `before` may stumble over in `after`; empty: the
 * change only adds.
 */
export const breakingChanges = (before: Catalog, after: Catalog): string[] => {
  const gone = [...before].flatMap(([name, { what, required, table }]) => {
    const now = after.get(name);
    if (now === undefined) {
      // A check or a foreign key that is gone allows more; a unique one may be named in an "on
      // conflict".
      const looser = /^constraint .*: (CHECK|FOREIGN KEY)/.test(name);
      return looser ? [] : [`${name} is gone`];
    }
    if (now.what !== what) return [`${name} has changed`];
    return now.required && !required && table !== '' ? [`${name} must be given now`] : [];
  });
  const tables = new Set([...before.values()].map(({ table }) => table));
  const isOld = (table: string, column: string): boolean => before.has(`column ${table}.${column}`);
  const stricter = [...after]
    .filter(([name, { table, required }]) => !before.has(name) && tables.has(table) && required)
    .filter(
      ([name, { table, columns }]) => name.startsWith('column ') || columns.every((column) => isOld(table, column)),
    )
    .map(([name]) => `${name} is new, and what the version before writes may violate it`);
  return [...gone, ...stricter];
};
