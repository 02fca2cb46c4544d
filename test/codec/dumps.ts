import type { Client as TemporalClient } from '@temporalio/client';
import type { Pool } from '../../postgres/pool';

/** Everything that the two stores hold, as text, to look for plaintext in. */

/** Returns each row of each table, as text. */
export const dumpDatabase = async (pool: Pool, schema = 'muster'): Promise<string> => {
  const { rows: tables } = await pool.query<{ name: string }>({
    text: `
select table_name as name
from information_schema.tables
where table_schema = $1 and table_type = 'BASE TABLE'`,
    values: [schema],
  });
  const parts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`select t::text as row from "${schema}"."${name}" t`);
    parts.push(...rows.map(({ row }) => `${name}: ${row}`));
  }
  return parts.join('\n');
};

/** Returns all runs whose workflow ids begin with `prefix`: descriptions and whole histories. */
export const dumpTemporal = async (temporal: TemporalClient, prefix: string): Promise<string> => {
  const parts: string[] = [];
  for await (const run of temporal.workflow.list({ query: `WorkflowId STARTS_WITH '${prefix}'` })) {
    const handle = temporal.workflow.getHandle(run.workflowId, run.runId);
    parts.push(run.workflowId, textOf(run.raw), textOf((await handle.describe()).raw));
    parts.push(textOf(await handle.fetchHistory()));
  }
  return parts.join('\n');
};

/** Returns all texts of a value, and all bytes as text. */
const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('latin1');
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${textOf(inner)}`)
    .join('\n');
};

/** Returns the forms in which a text may stand somewhere without being encrypted. */
const formsOf = (secret: string): string[] => {
  // Of Base64 at each offset, without the characters that depend on what is around it.
  const base64 = [0, 1, 2].map((offset) => {
    const text = Buffer.from('x'.repeat(offset) + secret).toString('base64');
    return text.slice(offset === 0 ? 0 : 4, -4);
  });
  return [secret, Buffer.from(secret).toString('hex'), ...base64];
};

/** Returns the lines of a dump that have the text in some form, shortened. */
export const hitsIn = (dump: string, secret: string): string[] => {
  const forms = formsOf(secret);
  return dump
    .split('\n')
    .filter((line) => forms.some((form) => line.includes(form)))
    .map((line) => line.slice(0, 300));
};
