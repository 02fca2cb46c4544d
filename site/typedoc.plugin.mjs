// @ts-check
import { readFileSync } from 'node:fs';
import {
  Comment,
  Converter,
  IndexedAccessType,
  IntersectionType,
  LiteralType,
  ReferenceType,
  ReflectionKind,
} from 'typedoc';
import ts from 'typescript';

/**
 * What TypeDoc cannot know of this code: the names under which users import the entry points, and
 * that the shapes of answers are zod schemas, whose fields are described by `.describe()`, and that
 * a short form of the client is explained where its verb is.
 */

/** The names under which `exports` of package.json gives the entry points out. */
const { exports: entries } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const ENTRIES = Object.fromEntries(
  Object.entries(entries)
    .filter(([, entry]) => entry.types !== undefined)
    .map(([name, entry]) => [
      entry.types.replace(/^\.\/dist\/(.+?)(\/index)?\.d\.ts$/, '$1'),
      `muster${name.slice(1)}`,
    ]),
);

/** @param {import('typedoc').Application} app */
export const load = (app) => {
  /** @type {Map<import('typedoc').DeclarationReflection, ShortForm>} */
  const shortForms = new Map();
  app.converter.on(Converter.EVENT_CREATE_DECLARATION, (context, reflection) => {
    const declaration = context.getSymbolFromReflection(reflection)?.declarations?.[0];
    if (declaration === undefined) return;
    const said = reflection.comment === undefined && exportCommentsOf(context.program).get(reflection.name);
    if (said && reflection.kindOf([ReflectionKind.TypeAlias, ReflectionKind.Interface]))
      reflection.comment = new Comment([{ kind: 'text', text: said }]);
    if (reflection.kindOf(ReflectionKind.TypeAlias) && isComputed(declaration)) {
      reflection.comment ??= new Comment();
      reflection.comment.modifierTags.add('@useDeclaredType');
    }
    if (ts.isPropertyAssignment(declaration)) delete reflection.defaultValue; // of the schema, not of the field
    const shortForm = reflection.kindOf(ReflectionKind.Property) && shortFormOf(declaration);
    if (shortForm) shortForms.set(reflection, shortForm);
    const described = reflection.kindOf(ReflectionKind.Property) && descriptionOf(declaration);
    if (described) reflection.comment ??= new Comment([{ kind: 'text', text: `${described}.` }]);
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const reflection of Object.values(project.reflections)) withoutDemands(reflection.comment);
    for (const module of project.children ?? []) module.name = ENTRIES[module.name] ?? module.name;
    // As it is declared: with every field of the answer, the table of short forms cannot be read.
    for (const [reflection, { noun, verb, callable }] of shortForms) {
      const target = project.getReflectionsByKind(ReflectionKind.ClassOrInterface).find(({ name }) => name === noun);
      if (target === undefined) throw new Error(`Cannot show ${reflection.name}: ${noun} is not exported. Export it.`);
      const type = () => ReferenceType.createResolvedReference(noun, target, project);
      const form = new IndexedAccessType(type(), new LiteralType(verb));
      reflection.type = callable ? new IntersectionType([type(), form]) : form;
    }
  });
  app.converter.on(Converter.EVENT_RESOLVE_END, ({ project }) => {
    // What a class inherits is shown as its own: where it stands is of no use to those who call it.
    for (const reflection of Object.values(project.reflections)) {
      delete reflection.inheritedFrom;
      delete reflection.overwrites;
      delete reflection.extendedTypes;
    }
  });
};

/**
 * Comments that stand in an `export type { ... }` of the client, by the name that they precede: types
 * of other layers are explained where the client gives them out.
 *
 * @type {WeakMap<ts.Program, Map<string, string>>}
 */
const exportComments = new WeakMap();
const exportCommentsOf = (/** @type {ts.Program} */ program) => {
  const found = exportComments.get(program) ?? new Map();
  if (exportComments.has(program)) return found;
  exportComments.set(program, found);
  for (const source of program.getSourceFiles().filter(({ fileName }) => /\/client\/[^.]*\.ts$/.test(fileName)))
    for (const { exportClause } of source.statements.filter((statement) => ts.isExportDeclaration(statement)))
      for (const name of exportClause && ts.isNamedExports(exportClause) ? exportClause.elements : []) {
        const range = ts.getLeadingCommentRanges(source.text, name.pos)?.at(-1);
        const text = range && /^\/\*\*([^]*)\*\/$/.exec(source.text.slice(range.pos, range.end))?.[1];
        if (text) found.set(name.name.text, text.replace(/\n\s*\* ?/g, '\n').trim());
      }
  return found;
};

/** @typedef {{ noun: string, verb: string, callable: boolean }} ShortForm */

/** What `Tasks['submit']`, or `Lanes & Lanes['list']`, is short for; undefined: another type. */
const shortFormOf = (/** @type {ts.Declaration} */ declaration) => {
  if (!ts.isPropertyDeclaration(declaration)) return undefined;
  const [, itself, noun, verb] = /^(?:(\w+) & )?(\w+)\['(\w+)'\]$/.exec(declaration.type?.getText() ?? '') ?? [];
  return noun === undefined || verb === undefined ? undefined : { noun, verb, callable: itself !== undefined };
};

/** Takes out the ids of demands, which are for those who change the code. */
const withoutDemands = (/** @type {Comment | undefined} */ comment) => {
  const parts = [...(comment?.summary ?? []), ...(comment?.blockTags ?? []).flatMap(({ content }) => content)];
  for (const part of parts) part.text = part.text.replace(/\s\([A-H]\d{1,2}(, [A-H]\d{1,2})*\)/g, '');
};

/** Whether a reader is told more by what it comes to: `z.infer<typeof x>`, `keyof typeof X`. */
const isComputed = (/** @type {ts.Declaration} */ declaration) =>
  ts.isTypeAliasDeclaration(declaration) &&
  /^(z\.(infer|input|output)<|keyof typeof |\(typeof )/.test(declaration.type.getText());

/** The text of the last `.describe('...')` of a field of a schema; undefined: it has none. */
const descriptionOf = (/** @type {ts.Declaration} */ declaration) => {
  if (!ts.isPropertyAssignment(declaration)) return undefined;
  for (let call = declaration.initializer; ts.isCallExpression(call);) {
    if (!ts.isPropertyAccessExpression(call.expression)) return undefined;
    const [text] = call.arguments;
    if (call.expression.name.text === 'describe' && text && ts.isStringLiteralLike(text)) return text.text;
    call = call.expression.expression;
  }
  return undefined;
};
