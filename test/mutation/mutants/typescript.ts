import ts from 'typescript';
import type { Change } from './change';
import type { Mutant } from './mutant';
import { changesOf } from './changes';
import { sqlChangesOf } from './sqlTexts';

/** Which changes are made: of the code, or of the SQL texts in it. */
export type Language = 'typescript' | 'sql';

/** Returns every mutant of a file, in the order of their places. */
export const mutantsOf = (file: string, text: string, language: Language): Mutant[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2022, true);
  const mutants: Mutant[] = [];
  const add = ({ kind, node, range, replacement }: Change): void => {
    const [start, end] = range === undefined ? [node.getStart(source), node.end] : [range.start, range.end];
    const original = text.slice(start, end);
    const line = source.getLineAndCharacterOfPosition(start).line + 1;
    const place = chainOf(node);
    const spot = { start: place.getStart(source), end: place.end, isStatement: ts.isStatement(place) };
    mutants.push({ file, line, kind, start, end, replacement, original, spot });
  };
  const walk = (node: ts.Node): void => {
    if (isOutside(node)) return;
    for (const change of language === 'sql' ? sqlChangesOf(node, source) : changesOf(node, source)) add(change);
    ts.forEachChild(node, walk);
  };
  ts.forEachChild(source, walk);
  return mutants.sort((a, b) => a.start - b.start || b.end - a.end);
};

/** Returns the whole of `a?.b.c`, of which no part may be put in parentheses. */
const chainOf = (node: ts.Node): ts.Node =>
  ts.isOptionalChain(node.parent) && node.parent.expression === node ? chainOf(node.parent) : node;

/** Types are gone when code runs; what an error says is prose. */
const isOutside = (node: ts.Node): boolean =>
  ts.isTypeNode(node) ||
  ts.isInterfaceDeclaration(node) ||
  ts.isTypeAliasDeclaration(node) ||
  ts.isImportDeclaration(node) ||
  ts.isImportEqualsDeclaration(node) ||
  ts.isExportDeclaration(node) ||
  ts.isThrowStatement(node);
