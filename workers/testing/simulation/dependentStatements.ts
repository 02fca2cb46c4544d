import { TASK_STATES } from '../../../workflows/planning/states';
import type { Need } from '../../../workflows/planning/grouping/dependents';
import type { Statement } from './statement';
import { NO_ROWS } from './statement';
import type { Tables } from './tables';
import type { EndedRow } from './rows';

/**
 * What the statements of `postgres/grouping/dependents.ts` do to a simulated store: of tasks that
 * are held until others have ended.
 */

const waitsFor = (tables: Tables, seq: number): Need[] =>
  tables.needs.filter(({ needs, state }) => needs === seq && state === null);

/** Returns what waits for these, and what will fail with them, however long the chain. */
const findDependents = (tables: Tables, ended: readonly EndedRow[]): Set<number> => {
  const found = new Set<number>();
  const failing = new Set<number>();
  const open = ended.map(({ seq, state }) => ({ seq, fails: state !== TASK_STATES.succeeded }));
  for (let next = open.pop(); next !== undefined; next = open.pop())
    for (const { seq, run } of waitsFor(tables, next.seq)) {
      found.add(seq);
      if (!next.fails || run || failing.has(seq)) continue;
      failing.add(seq);
      open.push({ seq, fails: true });
    }
  return found;
};

export const DEPENDENTS: Readonly<Record<string, Statement>> = {
  'has-ended': (tables) => [{ some: tables.ended.length > 0 }],
  'take-ended': (tables, [limit]) => tables.ended.slice(0, limit as number),
  'find-dependents': (tables, [seqs]) => {
    const ended = new Set(seqs as number[]);
    return [
      ...findDependents(
        tables,
        tables.ended.filter(({ seq }) => ended.has(seq)),
      ),
    ].map((seq) => ({ seq }));
  },
  'lock-held': (tables, [seqs]) =>
    (seqs as number[]).filter((seq) => tables.bySeq.get(seq)!.place === 'held').map((seq) => ({ seq })),
  'read-needs': (tables, [seqs]) => {
    const those = new Set(seqs as number[]);
    return tables.needs.filter(({ seq }) => those.has(seq)).map((need) => ({ ...need }));
  },
  'mark-needs': (tables, [seqs, needs, states]) => {
    for (const [i, seq] of (seqs as number[]).entries())
      for (const need of tables.needs)
        if (need.seq === seq && need.needs === (needs as number[])[i]) need.state = (states as number[])[i]!;
    return NO_ROWS;
  },
  'release-held': (tables, [seqs]) =>
    (seqs as number[]).map((seq) => {
      const task = tables.bySeq.get(seq)!;
      if (task.notBeforeMs > tables.nowMs) tables.delay(task, task.notBeforeMs);
      else tables.enqueue(task, tables.nowMs);
      return { targetId: task.target.id };
    }),
  'fail-held': (tables, [seqs, errors]) =>
    (seqs as number[]).map((seq, i) => {
      const task = tables.bySeq.get(seq)!;
      const error = (errors as string[])[i]!;
      tables.end(task, 'failed', 0, error);
      return { id: task.id, handler: tables.handler.name, target: task.target.key, recipientId: null, error };
    }),
  'delete-ended': (tables, [ids]) => {
    const gone = new Set(ids as number[]);
    tables.ended = tables.ended.filter(({ id, seq }) => !gone.has(id) || waitsFor(tables, seq).length > 0);
    return NO_ROWS;
  },
};
