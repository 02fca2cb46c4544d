import ts from 'typescript';
import type { Field, Noun, Shape, Verb } from './declarations';
import { imported, isInternal, parse, readClass, readFunction, readShape } from './declarations';
import { code, page, table } from './markdown';

const CLIENT = 'client/client.ts';
const INDEX = 'client/index.ts';
/** Functions that programs import, by where they come from. */
const FUNCTIONS: readonly (readonly [module: string, file: string, name: string])[] = [
  ['temporal-muster', CLIENT, 'createClient'],
  ['temporal-muster', 'handlers/defineHandler.ts', 'defineHandler'],
  ['temporal-muster', 'handlers/contracts/defineContract.ts', 'defineContract'],
  ['temporal-muster', 'handlers/contracts/implement.ts', 'implement'],
  ['temporal-muster', 'handlers/http/httpHandler.ts', 'httpHandler'],
  ['temporal-muster', 'handlers/functions/defineFunction.ts', 'defineFunction'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromDrizzle'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromKysely'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromPrisma'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromKnex'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromTypeOrm'],
  ['temporal-muster', 'client/transactions/adapters.ts', 'fromPostgresJs'],
  ['temporal-muster', 'client/executions/contentId.ts', 'contentId'],
  ['temporal-muster', 'workflows/planning/fanouts/segments.ts', 'itemIds'],
  ['temporal-muster', 'workflows/planning/fanouts/itemId.ts', 'parseItemId'],
  ['temporal-muster/workflow', 'workflows/helper.ts', 'submitTask'],
  ['temporal-muster/workflow', 'workflows/helper.ts', 'submitTasks'],
  ['temporal-muster/worker', 'workers/worker.ts', 'startWorker'],
];

/** The verbs of the client by their nouns, other functions, and the shapes that both name. */
export const clientReference = (): string => {
  const nouns = nounsOf();
  const own = readClass(CLIENT, 'Client');
  const functions = FUNCTIONS.map(([module, file, name]) => [module, readFunction(file, name)] as const);
  const verbs = [own, ...nouns.map(({ noun }) => noun)].flatMap((noun) => noun.verbs);
  return page('Client', [
    [
      "`import { createClient } from 'temporal-muster'`; its guide is [Submit from your program](../client.md).",
      own.text,
    ].join(' '),
    '## muster',
    ...own.verbs.flatMap((verb) => sectionOf(verb, 'muster.')),
    ...nouns.flatMap(({ property, noun, short }) => [
      `## muster.${property}`,
      noun.text,
      ...noun.verbs.flatMap((verb) => sectionOf(verb, `muster.${property}.`, short.get(verb.name))),
    ]),
    '## Functions',
    ...functions.flatMap(([module, verb]) => sectionOf(verb, '', undefined, module)),
    '## Types',
    'Those that the signatures above name, and that these name.',
    ...shapesNamedBy([...verbs, ...functions.map(([, verb]) => verb)]).flatMap(shapeSection),
  ]);
};

const clientClass = (): ts.ClassDeclaration =>
  parse(CLIENT)
    .statements.filter(ts.isClassDeclaration)
    .find(({ name }) => name?.text === 'Client')!;

interface NounOfClient {
  property: string;
  noun: Noun;
  /** The short forms of its verbs, by the verb. */
  short: Map<string, string>;
}

/** The nouns in the order in which the client declares them. */
const nounsOf = (): NounOfClient[] => {
  const files = importsOf(CLIENT);
  const properties = clientClass()
    .members.filter(ts.isPropertyDeclaration)
    .filter((property) => !isInternal(property))
    .map((property) => ({ name: property.name.getText(), type: property.type?.getText() ?? '' }));
  return properties.flatMap(({ name: property, type }) => {
    const [, className, called] = /^(\w+)(?: & \1\['(\w+)'\])?$/.exec(type) ?? [];
    const file = className === undefined ? undefined : files.get(className);
    if (file === undefined || !hasClass(file, className!)) return [];
    const short = new Map<string, string>(called === undefined ? [] : [[called, property]]);
    for (const other of properties) {
      const [, noun, verb] = /^(\w+)\['(\w+)'\]$/.exec(other.type) ?? [];
      if (noun === className && verb !== undefined) short.set(verb, other.name);
    }
    return [{ property, noun: readClass(file, className!), short }];
  });
};

const hasClass = (file: string, name: string): boolean =>
  parse(file).statements.some((one) => ts.isClassDeclaration(one) && one.name?.text === name);

/** The file of each name that a file imports from another one of the repository. */
const importsOf = (file: string): Map<string, string> =>
  new Map(
    parse(file)
      .statements.filter(ts.isImportDeclaration)
      .flatMap(({ importClause, moduleSpecifier }) => {
        const specifier = (moduleSpecifier as ts.StringLiteral).text;
        const names = importClause?.namedBindings;
        if (!specifier.startsWith('.') || names === undefined || !ts.isNamedImports(names)) return [];
        return names.elements.map((element) => [element.name.text, imported(file, specifier)] as const);
      }),
  );

const sectionOf = ({ name, signatures, text }: Verb, before: string, short?: string, module?: string): string[] => [
  `### ${before}${name}`,
  `\`\`\`ts\n${signatures.map((signature) => `${before}${signature}`).join('\n')}\n\`\`\``,
  [
    text,
    ...(short === undefined ? [] : [`Short form: \`muster.${short}(...)\`.`]),
    ...(module === undefined ? [] : [`From \`${module}\`.`]),
  ].join(' '),
];

const shapeSection = ({ name, text, extended, fields, type }: Shape): string[] => [
  `### ${name}`,
  ...(text === '' ? [] : [text]),
  ...(extended.length === 0 ? [] : [`With the fields of ${extended.map(code).join(', ')}.`]),
  ...(type === null ? [] : [`\`\`\`ts\ntype ${name} = ${type}\n\`\`\``]),
  ...(fields === null || fields.length === 0 ? [] : [tableOf(fields)]),
];

/** The fields of a schema are told by their names and descriptions alone. */
const tableOf = (fields: readonly Field[]): string =>
  fields.every(({ type }) => type === '')
    ? table(
        ['field', 'meaning'],
        fields.map(({ name, text }) => [code(name), text]),
      )
    : table(
        ['field', 'type', 'meaning'],
        fields.map(({ name, type, text }) => [code(name), type === '' ? '' : code(type), text]),
      );

/** The exported shapes that these name, and those that they name in turn, by name. */
const shapesNamedBy = (verbs: readonly Verb[]): Shape[] => {
  const exported = exportedShapes();
  const found = new Map<string, Shape>();
  const queue = verbs.flatMap(({ signatures }) => signatures);
  for (let text = queue.shift(); text !== undefined; text = queue.shift())
    for (const [name] of text.matchAll(/\b[A-Z]\w+/g)) {
      const shape = exported.get(name);
      if (shape === undefined || found.has(name)) continue;
      found.set(name, shape);
      queue.push(
        shape.type ?? '',
        ...shape.extended,
        ...(shape.fields ?? []).flatMap(({ name: field, type }) => [field, type]),
      );
    }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
};

/** Every interface and alias that `temporal-muster` exports, by its name. */
const exportedShapes = (): Map<string, Shape> => {
  const shapes = new Map<string, Shape>();
  const add = (file: string, name: string, text = ''): void => {
    const shape = readShape(file, name);
    if (shape !== null) shapes.set(name, { ...shape, text: shape.text === '' ? text : shape.text });
  };
  const visit = (file: string): void => {
    for (const { exportClause, moduleSpecifier } of parse(file).statements.filter(ts.isExportDeclaration)) {
      const from = moduleSpecifier === undefined ? file : imported(file, (moduleSpecifier as ts.StringLiteral).text);
      if (exportClause === undefined) {
        for (const name of declaredIn(from)) add(from, name);
        visit(from);
      } else if (ts.isNamedExports(exportClause))
        for (const element of exportClause.elements) add(from, element.name.text, commentBefore(element));
    }
  };
  for (const file of [INDEX, 'workflows/helper.ts', 'workers/worker.ts']) {
    for (const name of declaredIn(file)) add(file, name);
    visit(file);
  }
  return shapes;
};

/** A comment on a name in an `export type {...}`: of a type that another layer declares. */
const commentBefore = (element: ts.ExportSpecifier): string => {
  const { text } = element.getSourceFile();
  const range = ts.getLeadingCommentRanges(text, element.pos)?.at(-1);
  const comment = range === undefined ? null : /^\/\*\*([^]*)\*\/$/.exec(text.slice(range.pos, range.end));
  return comment === null ? '' : comment[1]!.replace(/\n\s*\* ?/g, ' ').trim();
};

const declaredIn = (file: string): string[] =>
  parse(file)
    .statements.filter((one) => ts.isInterfaceDeclaration(one) || ts.isTypeAliasDeclaration(one))
    .filter(({ modifiers }) => modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true)
    .map(({ name }) => name.text);
