import path from 'node:path';
import ts from 'typescript';
import { ROOT, trackedFiles } from '../../project/project';
import { Evaluator, NotConstant } from './evaluate';

/** A column as a row type declares it. */
export interface DeclaredColumn {
  name: string;
  /** What its values are, without null: `number`, `string[]`, `Date`. */
  type: string;
}

/** One `query({ text })` of the product. */
export interface Statement {
  /** File and line. */
  at: string;
  /** Null: it is made at run time. */
  text: string | null;
  /** Null: the caller names no type, so it reads no column. */
  columns: readonly DeclaredColumn[] | null;
}

/** Reads every statement of `postgres/` from its source, with the row type that its caller gave. */
export const findStatements = (): Statement[] => {
  const files = trackedFiles().filter((file) => /^postgres\/.*\.ts$/.test(file));
  const config = ts.getParsedCommandLineOfConfigFile(
    path.join(ROOT, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'));
      },
    },
  )!;
  const program = ts.createProgram(
    files.map((file) => path.join(ROOT, file)),
    config.options,
  );
  const reader = new StatementReader(program.getTypeChecker());
  return files.flatMap((file) => reader.read(program.getSourceFile(path.join(ROOT, file))!, file));
};

class StatementReader {
  private readonly evaluator: Evaluator;
  constructor(private readonly checker: ts.TypeChecker) {
    this.evaluator = new Evaluator(checker);
  }

  read(source: ts.SourceFile, file: string): Statement[] {
    const found: Statement[] = [];
    const visit = (node: ts.Node): void => {
      if (ts.isCallExpression(node)) {
        const text = textOf(node);
        if (text !== null) {
          const { line } = source.getLineAndCharacterOfPosition(text.getStart());
          found.push({ at: `${file}:${line + 1}`, text: this.textOf(text), columns: this.columnsOf(node) });
        }
      }
      node.forEachChild(visit);
    };
    visit(source);
    return found;
  }

  private textOf(node: ts.Expression): string | null {
    try {
      return String(this.evaluator.evaluate(node));
    } catch (error) {
      if (error instanceof NotConstant) return null;
      throw error;
    }
  }

  private columnsOf(node: ts.CallExpression): DeclaredColumn[] | null {
    const declared = node.typeArguments?.[0];
    if (declared === undefined || declared.kind === ts.SyntaxKind.ObjectKeyword) return null;
    const row = this.checker.getTypeFromTypeNode(declared);
    return this.checker.getPropertiesOfType(row).map((property) => ({
      name: property.name,
      type: this.describe(this.checker.getTypeOfSymbolAtLocation(property, node)),
    }));
  }

  /** Returns the kind of a type's values: literals and unions are those of their base. */
  private describe(type: ts.Type): string {
    const parts = (type.isUnion() ? type.types : [type]).filter(
      ({ flags }) => (flags & (ts.TypeFlags.Null | ts.TypeFlags.Undefined)) === 0,
    );
    return [...new Set(parts.map((part) => this.kindOf(part)))].sort().join(' | ');
  }

  private kindOf(type: ts.Type): string {
    if ((type.flags & ts.TypeFlags.NumberLike) !== 0) return 'number';
    if ((type.flags & ts.TypeFlags.StringLike) !== 0) return 'string';
    if ((type.flags & ts.TypeFlags.BooleanLike) !== 0) return 'boolean';
    if (type.isIntersection()) return this.kindOf(type.types[0]!);
    const element = this.checker.getIndexTypeOfType(type, ts.IndexKind.Number);
    if (element !== undefined && this.checker.isArrayLikeType(type)) return `${this.describe(element)}[]`;
    const name = type.symbol?.name;
    return name === 'Date' || name === 'Buffer' ? name : 'object';
  }
}

/** Returns the `text` of a call `x.query({ text })` or `x.query('...')`; null: it is none. */
const textOf = (node: ts.CallExpression): ts.Expression | null => {
  if (!ts.isPropertyAccessExpression(node.expression) || node.expression.name.text !== 'query') return null;
  const [first] = node.arguments;
  if (first === undefined) return null;
  if (!ts.isObjectLiteralExpression(first))
    return ts.isStringLiteralLike(first) || ts.isTemplateExpression(first) ? first : null;
  for (const property of first.properties)
    if (property.name !== undefined && ts.isIdentifier(property.name) && property.name.text === 'text') {
      if (ts.isPropertyAssignment(property)) return property.initializer;
      if (ts.isShorthandPropertyAssignment(property)) return property.name;
    }
  return null;
};
