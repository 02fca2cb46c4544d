import path from 'node:path';
import ts from 'typescript';
import { read } from '../project';

/** What the sources declare for users, by syntax alone: as it is written, with its comment. */

export interface Verb {
  name: string;
  /** One per overload: `pause(service: string, reason = 'paused by hand'): Promise<void>`. */
  signatures: string[];
  text: string;
}
export interface Noun {
  name: string;
  text: string;
  verbs: Verb[];
}
export interface Field {
  name: string;
  type: string;
  text: string;
}
export interface Shape {
  name: string;
  text: string;
  /** Types whose fields it has, too. */
  extended: string[];
  /** Null: an alias, whose type is `type`. */
  fields: Field[] | null;
  type: string | null;
}

const parsed = new Map<string, ts.SourceFile>();
export const parse = (file: string): ts.SourceFile => {
  const found = parsed.get(file) ?? ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true);
  parsed.set(file, found);
  return found;
};

/** The file that a relative import of another one means. */
export const imported = (from: string, specifier: string): string => {
  const base = path.join(path.dirname(from), specifier);
  return ts.sys.fileExists(`${base}.ts`) ? `${base}.ts` : path.join(base, 'index.ts');
};

/** On one line, without comments and without the names by which a file imports whole modules. */
const flat = (text: string): string =>
  text
    .replace(/\/\*\*[^]*?\*\//g, '')
    .replace(/\b[a-z]\w*\.(?=[A-Z])/g, '')
    .replace(/\s*\n\s*/g, ' ')
    .trim();

/** The comment before a declaration as one paragraph, with names in place of `{@link}`. */
const commentOf = (node: ts.Node): string => {
  const last = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc).at(-1);
  if (last === undefined) return '';
  const tags = (last.tags ?? [])
    .filter(({ tagName }) => tagName.text === 'throws')
    .map((tag) => `Throws ${textOf(tag.comment)}`);
  return [textOf(last.comment), ...tags].filter((text) => text !== '').join(' ');
};
const textOf = (comment: ts.JSDoc['comment']): string =>
  (typeof comment === 'string' ? comment : (comment ?? []).map(partOf).join(''))
    // An item of a list stays on a line of its own.
    .replace(/\s*\n\s*(?=- )/g, '\0')
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('\0', '\n')
    .trim();
const partOf = (part: ts.JSDocComment): string =>
  part.kind === ts.SyntaxKind.JSDocText
    ? part.text
    : `\`${'name' in part && part.name ? part.name.getText() : ''}${part.text}\``;

export const isInternal = (node: ts.Node): boolean =>
  ts.getJSDocTags(node).some(({ tagName }) => tagName.text === 'internal') ||
  (ts.canHaveModifiers(node) && ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword)) ===
    true;

/** A function or method from its name to its result. */
const signatureOf = (name: string, node: ts.SignatureDeclaration): string => {
  const parameters = node.parameters.map((parameter) => flat(parameter.getText())).join(', ');
  const generics =
    node.typeParameters === undefined ? '' : `<${node.typeParameters.map((t) => flat(t.getText())).join(', ')}>`;
  const result = node.type === undefined ? '' : `: ${flat(node.type.getText())}`;
  return `${name}${generics}(${parameters})${result}`;
};

/** With overloads, the one with the body is not seen from outside. */
const verbOf = (name: string, all: readonly (ts.MethodDeclaration | ts.FunctionDeclaration)[]): Verb => {
  const seen = all.length === 1 ? all : all.filter(({ body }) => body === undefined);
  const text = all.map(commentOf).find((one) => one !== '') ?? '';
  return { name, signatures: seen.map((node) => signatureOf(name, node)), text };
};

const statementsOf = <T extends ts.Statement>(file: string, is: (node: ts.Node) => node is T): T[] =>
  parse(file).statements.filter(is);

export const readClass = (file: string, name: string): Noun => {
  const found = statementsOf(file, ts.isClassDeclaration).find((one) => one.name?.text === name);
  if (found === undefined) throw new Error(`${file}: expected a class ${name}, got none`);
  const methods = found.members.filter(ts.isMethodDeclaration).filter((method) => !isInternal(method));
  const names = [...new Set(methods.map((method) => method.name.getText()))];
  const verbs = names.map((verb) =>
    verbOf(
      verb,
      methods.filter((method) => method.name.getText() === verb),
    ),
  );
  return { name, text: commentOf(found), verbs };
};

/** A function, or a constant that is one. */
export const readFunction = (file: string, name: string): Verb => {
  const functions = statementsOf(file, ts.isFunctionDeclaration).filter((one) => one.name?.text === name);
  if (functions.length > 0) return verbOf(name, functions);
  for (const statement of statementsOf(file, ts.isVariableStatement))
    for (const { name: declared, initializer } of statement.declarationList.declarations)
      if (declared.getText() === name && initializer !== undefined && ts.isArrowFunction(initializer))
        return { name, signatures: [signatureOf(name, initializer)], text: commentOf(statement) };
  throw new Error(`${file}: expected a function ${name}, got none`);
};

/** An exported interface or alias; null: the file declares none of that name. */
export const readShape = (file: string, name: string): Shape | null => {
  const alias = statementsOf(file, ts.isTypeAliasDeclaration).find((one) => one.name.text === name);
  if (alias !== undefined) return { name, text: commentOf(alias), extended: [], ...aliasOf(file, alias.type) };
  const found = statementsOf(file, ts.isInterfaceDeclaration).find((one) => one.name.text === name);
  if (found === undefined) return null;
  const extended = (found.heritageClauses ?? []).flatMap(({ types }) => types.map((type) => flat(type.getText())));
  return { name, text: commentOf(found), extended, fields: found.members.map(fieldOf), type: null };
};

/** What an alias comes to if it is computed from a list of names or a schema of its file. */
const aliasOf = (file: string, type: ts.TypeNode): Pick<Shape, 'fields' | 'type'> => {
  const text = flat(type.getText());
  const [, listed, schema] = /^(?:keyof typeof (\w+)|z\.(?:infer|input|output)<typeof (\w+)>)$/.exec(text) ?? [];
  const value = valueOf(file, listed ?? schema ?? '');
  const object = value === undefined ? undefined : firstObjectIn(value);
  if (object === undefined) return { fields: null, type: text };
  const properties = object.properties.filter(ts.isPropertyAssignment);
  if (listed !== undefined)
    return { fields: null, type: properties.map(({ name }) => `'${name.getText().replaceAll("'", '')}'`).join(' | ') };
  return {
    type: null,
    fields: object.properties.map((property) => ({
      name: `${property.name?.getText() ?? ''}${isNullable(property) ? ' | null' : ''}`,
      type: '',
      text: descriptionIn(property),
    })),
  };
};

const valueOf = (file: string, name: string): ts.Expression | undefined =>
  statementsOf(file, ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations])
    .find((one) => one.name.getText() === name)?.initializer;

const firstObjectIn = (node: ts.Node): ts.ObjectLiteralExpression | undefined =>
  ts.isObjectLiteralExpression(node) ? node : ts.forEachChild(node, firstObjectIn);

const isNullable = (field: ts.Node): boolean => /\.(nullable|nullish)\(\)/.test(field.getText());

/** What `.describe()` says of a field of a schema. */
const descriptionIn = (node: ts.Node): string => {
  const [, quote, text] = /\.describe\(\s*(['"`])([^]*?)\1,?\s*\)/.exec(node.getText()) ?? [];
  return quote === undefined ? '' : text!.replaceAll(`\\${quote}`, quote);
};

const fieldOf = (member: ts.TypeElement): Field => {
  const optional = member.questionToken === undefined ? '' : '?';
  if (ts.isPropertySignature(member))
    return { name: `${member.name.getText()}${optional}`, type: flat(member.type!.getText()), text: commentOf(member) };
  return { name: flat(member.getText()).replace(/;$/, ''), type: '', text: commentOf(member) };
};
