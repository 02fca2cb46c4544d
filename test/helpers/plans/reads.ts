import pg from 'pg';
import type { Pool } from '../../../postgres/pool';
import { tapPool } from '../../chaos/judge/tap';
import type { TestDatabase } from '../database';

/**
 * The rows that each statement reads, as the server counted them (`auto_explain`). That no plan has
 * a sequential scan says little: our sessions refuse those, and reading a whole index is no better.
 */
export interface Read {
  /** Empty for a bitmap's index: the table's read follows. */
  relation: string;
  index: string;
  rows: number;
  /** What it sought in the index: empty for one that was read from one of its ends. */
  sought: string;
}

interface Plan {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: Plan[];
}

const readsOf = (plan: Plan): Read[] => {
  const each =
    (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Index Recheck'] ?? 0);
  const own =
    /Scan$/.test(plan['Node Type']) && (plan['Relation Name'] ?? plan['Index Name']) !== undefined
      ? [
          {
            relation: plan['Relation Name'] ?? '',
            index: plan['Index Name'] ?? plan['Node Type'],
            rows: each * (plan['Actual Loops'] ?? 0),
            sought: plan['Index Cond'] ?? '',
          },
        ]
      : [];
  return [...own, ...(plan.Plans ?? []).flatMap(readsOf)];
};

/** Has each session that is opened from now on told what its statements read. */
export const explainSessions = async ({ url, name }: Pick<TestDatabase, 'url' | 'name'>): Promise<void> => {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  for (const [setting, value] of Object.entries({
    session_preload_libraries: 'auto_explain',
    'auto_explain.log_min_duration': '0',
    'auto_explain.log_analyze': 'on',
    'auto_explain.log_timing': 'off',
    'auto_explain.log_format': 'json',
    'auto_explain.log_level': 'notice', // to the session, not to the server's log
  }))
    await admin.query(`alter database ${name} set ${setting} = '${value}'`);
  await admin.end();
};

/** Returns what each statement of Muster's in these pools reads from now on, by its name. */
export const readsIn = (...pools: readonly Pool[]): Map<string, Read[]> => {
  const reads = new Map<string, Read[]>();
  const names = new Map<string, string>(); // by text
  for (const pool of pools) {
    tapPool(pool, {
      rewrite: (name, text) => {
        names.set(text.trim(), name);
        return text;
      },
    });
    pool.on('connect', (session) =>
      session.on('notice', ({ message = '' }) => {
        const [, json] = message.split(/^duration: .* plan:\n/);
        if (json === undefined) return;
        const logged = JSON.parse(json) as { 'Query Text': string; Plan: Plan };
        const name = names.get(logged['Query Text'].trim()) ?? '';
        // What has no name is the test's own.
        if (/^[\w-]+$/.test(name)) reads.set(name, [...(reads.get(name) ?? []), ...readsOf(logged.Plan)]);
      }),
    );
  }
  return reads;
};
