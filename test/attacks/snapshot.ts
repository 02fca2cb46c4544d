import type { TestDatabase } from '../helpers/database';

/** Returns everything in the store but tokens, whose use is noted in them. */
export const snapshot = async ({ pool }: TestDatabase): Promise<string> => {
  const { rows } = await pool.query<{ name: string }>(
    `
select table_name as name
from information_schema.tables
where table_schema = 'muster' and table_name <> 'api_token'`,
  );
  const texts: string[] = [];
  for (const { name } of rows) {
    const { rows: found } = await pool.query<{ all: string | null }>(
      `select string_agg(t::text, E'\\n' order by t::text) as all from muster."${name}" t`,
    );
    texts.push(`${name}\n${found[0]!.all ?? ''}`);
  }
  return texts.join('\n');
};
