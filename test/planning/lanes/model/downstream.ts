import { isUndeclared } from '../../../../workflows/planning/lanes/conflicts';

/** What the downstream of the model really has, whatever the queuer believes. */
export type Truth = 'absent' | 'in-air' | 'accepted' | 'applied' | 'refused';
export interface Edit {
  id: number;
  reads: readonly string[];
  writes: readonly string[];
}

export const KEYS = ['a', 'b', 'c', 'd'] as const;

/**
 * Applies an edit: what it writes depends on what it reads, so that two conflicting edits do not
 * commute.
 */
const applyTo = (state: Map<string, string>, { id, ...sets }: Edit): void => {
  const reads = isUndeclared(sets) ? KEYS : [...new Set([...sets.reads, ...sets.writes])].sort();
  const seen = reads.map((key) => state.get(key) ?? '-').join();
  const value = `${id}(${seen.length > 40 ? hash(seen) : seen})`;
  for (const key of isUndeclared(sets) ? KEYS : sets.writes) state.set(key, value);
};

const hash = (text: string): number => {
  let value = 7;
  for (let at = 0; at < text.length; at += 1) value = (Math.imul(value, 31) + text.charCodeAt(at)) | 0;
  return value;
};

/** The state after these, one after the other. */
export const sequentially = (edits: readonly Edit[]): Map<string, string> => {
  const state = new Map<string, string>();
  for (const edit of edits) applyTo(state, edit);
  return state;
};

/** One service's state, and in which order it was edited. */
export class ServiceState {
  readonly state = new Map<string, string>();
  readonly applied: number[] = [];

  apply(edit: Edit): void {
    applyTo(this.state, edit);
    this.applied.push(edit.id);
  }
}
