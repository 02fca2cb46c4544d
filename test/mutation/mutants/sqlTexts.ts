import ts from 'typescript';
import { sqlChanges } from './sql';
import type { Change } from './change';

const STATEMENT = /^\s*(with|select|insert|update|delete)\b/i;

/** Returns the changes of a literal that is a statement, or a part of one between `${...}`. */
export const sqlChangesOf = (node: ts.Node, source: ts.SourceFile): Change[] => {
  if (!ts.isStringLiteralLike(node) && !ts.isTemplateExpression(node)) return [];
  const text = node.getText(source);
  const from = node.getStart(source);
  if (!STATEMENT.test(text.slice(1))) return [];
  return sqlChanges(holesFilled(node, text, from, source)).map(({ kind, start, end, replacement }) => ({
    kind,
    node,
    range: { start: from + start, end: from + end },
    replacement,
  }));
};

/** Returns the text with letters in place of what is not SQL: quotes and `${...}`. */
const holesFilled = (
  node: ts.StringLiteralLike | ts.TemplateExpression,
  text: string,
  from: number,
  source: ts.SourceFile,
): string => {
  const inside = ` ${text.slice(1, -1)} `;
  if (!ts.isTemplateExpression(node)) return inside;
  return node.templateSpans.reduce((filled, { expression }) => {
    const [start, end] = [expression.getStart(source) - from - 2, expression.end - from + 1];
    return filled.slice(0, start) + 'h'.repeat(end - start) + filled.slice(end);
  }, inside);
};
