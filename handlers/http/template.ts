import type { Findings } from '../configError';
import { didYouMean } from '../suggest';
import type { Path } from './path';
import { isBad, parsePath, readPath } from './path';

/** The values of a template's names in one rendering, such as `{id: 'a', payload: {...}}`. */
export type Scope = Readonly<Record<string, unknown>>;

/**
 * A reference `{{name.path?}}`. With `?` the value may be missing; a member of an object is then
 * left out.
 */
export interface Reference {
  readonly root: string;
  readonly path: Path;
  readonly optional: boolean;
  readonly text: string;
}

/** A value that a template needs is missing. */
export class MissingValue extends Error {
  override readonly name = 'MissingValue';
  constructor(readonly reference: Reference) {
    super(`expected a value for {{${reference.text}}}, got nothing; write {{${reference.text}?}} if it may be missing`);
  }
}

export interface Template {
  /** Renders the template. Throws `MissingValue`. */
  render(scope: Scope): unknown;
  readonly references: readonly Reference[];
}

type Render = (scope: Scope) => unknown;

/** The only name that may be followed by a path: `{{payload.a.b}}`. */
const DEEP = 'payload';
const TOKEN = /\{\{([^{}]*)\}\}/g;

/**
 * Compiles JSON in whose strings `{{name}}` is replaced. If it is the whole string, the value keeps
 * its JSON type; inside of a longer string it becomes text. Inserted values are never scanned for
 * references.
 */
export function compileTemplate(json: unknown, roots: readonly string[], at: string, findings: Findings): Template {
  const references: Reference[] = [];
  const compile = (node: unknown, path: string): Render => {
    if (typeof node === 'string') return compileText(node, (inner) => addReference(inner, path));
    if (Array.isArray(node)) {
      const items = node.map((item, place) => compile(item, `${path}.${place}`));
      return (scope) => items.map((item) => item(scope) ?? null);
    }
    if (typeof node !== 'object' || node === null) return () => node;
    const members = Object.entries(node).map(([key, value]) => {
      if (key.includes('{{')) findings.add(`${path}.${key}`, 'expected {{...}} in values only, got it in a name');
      return [key, compile(value, `${path}.${key}`)] as const;
    });
    // fromEntries defines an own property even for `__proto__`, and JSON leaves out undefined
    // members.
    return (scope) => Object.fromEntries(members.map(([key, render]) => [key, render(scope)]));
  };
  const addReference = (inner: string, path: string): Reference => {
    const reference = parseReference(inner, roots);
    if (typeof reference === 'string') {
      findings.add(path, reference);
      return { root: '', path: [], optional: true, text: inner };
    }
    references.push(reference);
    return reference;
  };
  const checkText = (text: string, path: string): void => {
    if (text.replace(TOKEN, '').includes('{{'))
      findings.add(path, `expected {{name}} to be closed, got ${JSON.stringify(text.slice(0, 80))}`);
  };
  visitText(json, at, checkText);
  return { render: compile(json, at), references };
}

function visitText(node: unknown, path: string, visit: (text: string, path: string) => void): void {
  if (typeof node === 'string') visit(node, path);
  else if (typeof node === 'object' && node !== null) {
    for (const [key, value] of Object.entries(node)) visitText(value, `${path}.${key}`, visit);
  }
}

function compileText(text: string, add: (inner: string) => Reference): Render {
  const tokens = [...text.matchAll(TOKEN)];
  if (tokens.length === 0) return () => text;
  const references = tokens.map((token) => add(token[1]!));
  if (tokens[0]![0] === text) return (scope) => valueOf(references[0]!, scope);
  const between = text.split(/\{\{[^{}]*\}\}/);
  return (scope) =>
    between.map((plain, i) => plain + (i < references.length ? asText(valueOf(references[i]!, scope)) : '')).join('');
}

/** Returns the reference in `{{...}}`, or its problem. */
function parseReference(inner: string, roots: readonly string[]): Reference | string {
  const trimmed = inner.trim();
  const optional = trimmed.endsWith('?');
  const text = optional ? trimmed.slice(0, -1) : trimmed;
  const end = text.search(/[./]/);
  const root = end === -1 ? text : text.slice(0, end);
  if (!roots.includes(root)) {
    const remedy =
      didYouMean(root, roots) || (roots.includes(DEEP) ? '; a field of the payload is written {{payload.field}}' : '');
    return `expected one of ${roots.map((name) => `{{${name}}}`).join(', ')}, got {{${text}}}${remedy}`;
  }
  if (end === -1) return { root, path: [], optional, text };
  if (root !== DEEP) return `expected {{${root}}} without a path, got {{${text}}}`;
  const rest = text.slice(end);
  const path =
    rest === '.' ? { bad: 'expected a name after the dot' } : parsePath(rest.startsWith('/') ? rest : rest.slice(1));
  return isBad(path) ? `{{${text}}}: ${path.bad}` : { root, path, optional, text };
}

export function valueOf(reference: Reference, scope: Scope): unknown {
  const value = readPath(scope[reference.root], reference.path);
  if (value === undefined && !reference.optional) throw new MissingValue(reference);
  return value;
}

/**
 * Formats a value for use inside of a longer text: strings as they are, undefined as '', everything
 * else as JSON.
 */
export const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : (JSON.stringify(value) ?? '');
