import { readdirSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { ROOT } from './project';

/** One import of one file: of a module by name, or of another file of the project. */
export interface Import {
  /** The importing file, from the root, with `/`. */
  from: string;
  line: number;
  /**
   * The imported file from the root, without its ending (`postgres/pool`), or the package
   * (`@temporalio/client`, `node:os`).
   */
  to: string;
  isPackage: boolean;
  /** Erased by the compiler: `import type`, `export type`, or every name marked `type`. */
  isTypeOnly: boolean;
}

/** Every TypeScript file below these folders of the root, as `folder/name.ts`. */
export const sourceFiles = (folders: readonly string[]): string[] =>
  folders.flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
      .map((name) => `${folder}/${name.split(path.sep).join('/')}`),
  );

/**
 * Everything that `file` imports, in any form: import, export from, import x = require, require(),
 * import().
 */
export const importsOf = (file: string, source: string): Import[] => {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    const one = specifierOf(node);
    if (one !== null) {
      const line = parsed.getLineAndCharacterOfPosition(node.getStart(parsed)).line + 1;
      found.push({ from: file, line, ...resolved(file, one.specifier), isTypeOnly: one.isTypeOnly });
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
};

/** Where a file touches `process.env`, in either spelling. */
export const environmentReads = (file: string, source: string): string[] => {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TS);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isEnv =
      (ts.isPropertyAccessExpression(node) && node.name.text === 'env') ||
      (ts.isElementAccessExpression(node) &&
        ts.isStringLiteralLike(node.argumentExpression) &&
        node.argumentExpression.text === 'env');
    if (isEnv && ts.isIdentifier(node.expression) && node.expression.text === 'process')
      found.push(`${file}:${parsed.getLineAndCharacterOfPosition(node.getStart(parsed)).line + 1}`);
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return found;
};

const specifierOf = (node: ts.Node): { specifier: string; isTypeOnly: boolean } | null => {
  if (ts.isImportDeclaration(node)) return literal(node.moduleSpecifier, isErased(node.importClause));
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    const names =
      node.exportClause !== undefined && ts.isNamedExports(node.exportClause) ? node.exportClause.elements : [];
    return literal(
      node.moduleSpecifier,
      node.isTypeOnly || (names.length > 0 && names.every((name) => name.isTypeOnly)),
    );
  }
  if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
    return literal(node.moduleReference.expression, node.isTypeOnly);
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return literal(node.argument.literal, true);
  if (ts.isCallExpression(node) && node.arguments.length > 0) {
    const { expression } = node;
    const isRequire =
      (ts.isIdentifier(expression) && expression.text === 'require') ||
      (ts.isPropertyAccessExpression(expression) && expression.getText() === 'require.resolve');
    if (isRequire || expression.kind === ts.SyntaxKind.ImportKeyword) return literal(node.arguments[0], false);
  }
  return null;
};

const isErased = (clause: ts.ImportClause | undefined): boolean => {
  if (clause === undefined) return false; // import 'x' runs x
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const names = clause.namedBindings;
  return (
    clause.name === undefined &&
    names !== undefined &&
    ts.isNamedImports(names) &&
    names.elements.length > 0 &&
    names.elements.every((name) => name.isTypeOnly)
  );
};

const literal = (node: ts.Node | undefined, isTypeOnly: boolean): { specifier: string; isTypeOnly: boolean } | null =>
  node !== undefined && ts.isStringLiteralLike(node) ? { specifier: node.text, isTypeOnly } : null;

const resolved = (file: string, specifier: string): { to: string; isPackage: boolean } => {
  if (!specifier.startsWith('.')) return { to: specifier, isPackage: true };
  const to = path.posix.join(path.posix.dirname(file), specifier).replace(/\.(ts|js)$/, '');
  return { to, isPackage: false };
};
