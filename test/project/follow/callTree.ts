import { existsSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { read, ROOT } from '../project';

/**
 * Reads which function refers to which, file by file and without types: enough to check that a
 * function calls another one that it imports, or a method by its name.
 */

/** What the text of a declaration refers to. */
interface References {
  /** Names that stand alone: `store(...)`, `new Schedule(...)`. */
  names: Set<string>;
  /** Names behind an object, such as `this.store`, `reads.getTask`; with it, where it is a name. */
  members: Set<string>;
  texts: Set<string>;
}

interface SourceFile {
  /** Functions, constants and classes by name, members as `Class.member` and `this.member`. */
  declared: Map<string, References>;
  methods: Set<string>;
  /** Local names of imports, with the file and the name there; of a namespace, the name is `*`. */
  imports: Map<string, { file: string; name: string }>;
  /** Files whose exports this file exports, too. */
  reExports: string[];
}

const sources = new Map<string, SourceFile>();
const sourceOf = (file: string): SourceFile => {
  let source = sources.get(file);
  if (source === undefined) sources.set(file, (source = parse(file, read(file))));
  return source;
};

export const isDeclared = (file: string, name: string): boolean => sourceOf(file).declared.has(name);

const parse = (file: string, text: string): SourceFile => {
  const source: SourceFile = { declared: new Map(), methods: new Set(), imports: new Map(), reExports: [] };
  for (const node of ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true).statements) {
    if (ts.isImportDeclaration(node)) addImports(source, file, node);
    else if (ts.isExportDeclaration(node)) addReExport(source, file, node);
    else if (ts.isFunctionDeclaration(node)) declare(source, node.name!.text, node);
    else if (ts.isClassDeclaration(node)) addClass(source, node.name!.text, node);
    else if (ts.isVariableStatement(node))
      for (const { name, initializer } of node.declarationList.declarations)
        if (ts.isIdentifier(name) && initializer !== undefined) declare(source, name.text, initializer);
  }
  return source;
};

const declare = (source: SourceFile, name: string, node: ts.Node): void => {
  const { names, members, texts } = referencesOf(node);
  const before = source.declared.get(name); // of an overload, which has no body
  source.declared.set(name, {
    names: new Set([...(before?.names ?? []), ...names]),
    members: new Set([...(before?.members ?? []), ...members]),
    texts: new Set([...(before?.texts ?? []), ...texts]),
  });
};

const addClass = (source: SourceFile, name: string, node: ts.ClassDeclaration): void => {
  declare(source, name, node);
  for (const member of node.members) {
    if (ts.isConstructorDeclaration(member)) addAssigned(source, member);
    if (member.name === undefined || !ts.isIdentifier(member.name)) continue;
    declare(source, `this.${member.name.text}`, member);
    declare(source, `${name}.${member.name.text}`, member);
    if (ts.isMethodDeclaration(member)) source.methods.add(`${name}.${member.name.text}`);
  }
};

/** Adds fields that a constructor fills: `this.writer = successWriter(pool)`. */
const addAssigned = (source: SourceFile, { body }: ts.ConstructorDeclaration): void => {
  for (const statement of body!.statements) {
    if (!ts.isExpressionStatement(statement) || !ts.isBinaryExpression(statement.expression)) continue;
    const { left, right } = statement.expression;
    if (/^this\.\w+$/.test(left.getText())) declare(source, left.getText(), right);
  }
};

const referencesOf = (node: ts.Node): References => {
  const found: References = { names: new Set(), members: new Set(), texts: new Set() };
  const visit = (child: ts.Node): void => {
    if (ts.isTypeNode(child)) return;
    if (ts.isStringLiteralLike(child) || ts.isTemplateHead(child) || ts.isTemplateMiddleOrTemplateTail(child))
      found.texts.add(child.text);
    if (ts.isPropertyAccessExpression(child)) {
      found.members.add(child.name.text);
      found.members.add(`${child.expression.getText()}.${child.name.text}`);
      visit(child.expression);
    } else if (ts.isIdentifier(child)) found.names.add(child.text);
    else ts.forEachChild(child, visit);
  };
  visit(node);
  return found;
};

const addImports = ({ imports }: SourceFile, file: string, node: ts.ImportDeclaration): void => {
  const from = resolve(file, node.moduleSpecifier);
  const bindings = node.importClause?.namedBindings;
  if (from === null || bindings === undefined || node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return;
  if (ts.isNamespaceImport(bindings)) imports.set(bindings.name.text, { file: from, name: '*' });
  else
    for (const { name, propertyName } of bindings.elements)
      imports.set(name.text, { file: from, name: (propertyName ?? name).text });
};

const addReExport = (source: SourceFile, file: string, { moduleSpecifier }: ts.ExportDeclaration): void => {
  const from = moduleSpecifier === undefined ? null : resolve(file, moduleSpecifier);
  if (from !== null) source.reExports.push(from);
};

const resolve = (file: string, specifier: ts.Expression): string | null => {
  const { text } = specifier as ts.StringLiteral;
  if (!text.startsWith('.')) return null;
  const base = path.posix.join(path.posix.dirname(file), text);
  return [`${base}.ts`, `${base}/index.ts`].find((one) => existsSync(path.join(ROOT, one))) ?? null;
};

export interface Place {
  file: string;
  name: string;
}

const reached = new Map<string, References>();
/** Returns what a function refers to, itself or through functions and methods of its own file. */
export const reachOf = (place: Place): References => {
  const key = `${place.file} ${place.name}`;
  let sum = reached.get(key);
  if (sum === undefined) reached.set(key, (sum = collect(place)));
  return sum;
};

const collect = ({ file, name }: Place): References => {
  const { declared } = sourceOf(file);
  const sum: References = { names: new Set(), members: new Set(), texts: new Set() };
  const seen = new Set<string>();
  const queue = [name];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    const found = declared.get(next);
    if (seen.has(next) || found === undefined) continue;
    seen.add(next);
    for (const one of found.names) sum.names.add(one);
    for (const one of found.members) sum.members.add(one);
    for (const one of found.texts) sum.texts.add(one);
    queue.push(...found.names, ...[...found.members].filter((one) => one.startsWith('this.')));
  }
  return sum;
};

/** Says whether a function refers to another one, by its import; to a method, by its name. */
export const refersTo = (from: Place, to: Place): boolean => {
  const { names, members } = reachOf(from);
  const method = to.name.split('.').at(-1)!;
  if (sourceOf(to.file).methods.has(to.name)) return members.has(method);
  if (from.file === to.file) return names.has(to.name);
  return [...sourceOf(from.file).imports].some(([local, { file, name }]) => {
    if (file !== to.file && !sourceOf(file).reExports.includes(to.file)) return false;
    return name === '*' ? members.has(`${local}.${to.name}`) : name === to.name && names.has(local);
  });
};
