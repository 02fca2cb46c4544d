import type ts from 'typescript';

/** What one node may become: text in place of its own. */
export interface Change {
  kind: string;
  node: ts.Node;
  /** Where it is not the whole node: offsets in the file. */
  range?: { start: number; end: number };
  replacement: string;
}
