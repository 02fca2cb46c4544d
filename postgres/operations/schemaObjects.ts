import type { Queryable } from '../pool';

/** A table's column, index or constraint, a trigger or a function, and what matters of it. */
export interface SchemaObject {
  /** `index held_target_seq`, `column task.payload`, `function submit(text, ...)`. */
  name: string;
  definition: string;
}

/**
 * Returns all objects of Muster's schema, by name. Definitions hold only what each version of
 * Postgres prints alike: no expressions but the bodies of functions, as a hash.
 */
export const readSchemaObjects = async (db: Queryable): Promise<SchemaObject[]> => {
  const { rows } = await db.query<SchemaObject>({
    text: `
with own as (
  select c.oid, c.relname, c.relkind
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = current_schema() and c.relkind in ('r', 'p', 'v'))
select o.name, o.definition
from (
  select format('column %s.%s', c.relname, a.attname) as name,
    format_type(a.atttypid, a.atttypmod) || case when a.attnotnull then ' not null' else '' end as definition
  from own c join pg_attribute a on a.attrelid = c.oid
  where a.attnum > 0 and not a.attisdropped
  union all
  select format('index %s', x.relname), format('%s%s (%s)%s%s',
    case when i.indisunique then 'unique ' else '' end, c.relname, (
      select string_agg(a.attname, ', ' order by a.attnum)
      from pg_attribute a
      where a.attrelid = x.oid),
    case when i.indpred is null then '' else ' partial' end, case when i.indisvalid then '' else ' invalid' end)
  from own c join pg_index i on i.indrelid = c.oid join pg_class x on x.oid = i.indexrelid
  union all
  select format('constraint %s of %s', k.conname, c.relname), k.contype::text
  from own c join pg_constraint k on k.conrelid = c.oid
  where k.contype in ('p', 'u', 'c', 'x', 'f')
  union all
  select format('trigger %s of %s', t.tgname, c.relname), case t.tgenabled when 'D' then 'disabled' else 'enabled' end
  from own c join pg_trigger t on t.tgrelid = c.oid
  where not t.tgisinternal
  union all
  select format('function %s(%s)', p.proname, (
      select string_agg(format_type(u.type, null), ', ' order by u.place)
      from unnest(p.proargtypes::oid[]) with ordinality u (type, place))), md5(p.prosrc)
  from pg_proc p join pg_namespace n on n.oid = p.pronamespace
  where n.nspname = current_schema() and p.prokind in ('f', 'p')) o
order by o.name collate "C"`,
  });
  return rows;
};
