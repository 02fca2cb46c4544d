import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Findings } from '../configError';
import { didYouMean } from '../suggest';
import { show } from '../text';
import type { Wanted } from './cel/expression';
import { compileExpression, OF_PAYLOAD } from './cel/expression';
import { jsonOf, KEY, NUMBER } from './cel/values';
import type { Fault } from './jsonSchema/jsonSchema';
import { compileJsonSchema } from './jsonSchema/jsonSchema';
import type { Path } from './path';
import type { OrderPlan } from './stateKeys';
import { compileOrder } from './stateKeys';
import { isBad, member, parsePath, readPath } from './path';
import type { Reference } from './template';

/**
 * What a handler reads from a payload: the target, weight, key (`distinctBy`, `coalesceBy`),
 * service and state keys; with the schema that checks that all of it is there.
 */
export interface PayloadPlan {
  readonly schema: StandardSchemaV1;
  target(payload: unknown): string;
  readonly weightOf?: (payload: unknown) => number;
  readonly distinctBy?: (payload: unknown) => string;
  readonly coalesceBy?: (payload: unknown) => string;
  readonly order: OrderPlan;
}

const TARGET_BYTES_MAX = 512;

/** How a setting is read from a payload: by a path into it, or by an expression. */
interface Reader<T> {
  readonly read: (payload: unknown) => T;
  /** Undefined: an expression, of which a JSON Schema cannot say whether it is declared. */
  readonly path?: Path;
}

/**
 * Compiles the paths into the payload, and expressions over it. `references` are those of the item
 * template, whose values must be there too.
 */
export function compilePayload(config: unknown, references: readonly Reference[], findings: Findings): PayloadPlan {
  const target = member(config, 'target');
  const constant = member(target, 'constant');
  const key = compileReader(target, 'target', KEY, asKey(TARGET_BYTES_MAX), findings);
  const weight = compileReader(member(config, 'weight'), 'weight', NUMBER, asWeight, findings);
  const distinct = compileReader(member(config, 'distinctBy'), 'distinctBy', KEY, asKey(Infinity), findings);
  const coalesce = compileReader(member(config, 'coalesceBy'), 'coalesceBy', KEY, asKey(Infinity), findings);
  const order = compileOrder(config, findings);
  const plan = {
    order,
    target: typeof constant === 'string' ? () => constant : (key?.read ?? (() => '')),
    weightOf: weight?.read,
    distinctBy: distinct?.read,
    coalesceBy: coalesce?.read,
  };
  const used: [string, Path | undefined][] = [
    ['target', key?.path],
    ['weight', weight?.path],
    ['distinctBy', distinct?.path],
    ['coalesceBy', coalesce?.path],
    ...order.paths.map(([at, path]): [string, Path] => [at, path]),
  ];
  for (const reference of references)
    if (reference.root === 'payload' && !reference.optional) used.push(['request.item', reference.path]);
  return { ...plan, schema: compileSchema(member(config, 'schema'), used, plan, references, findings) };
}

/** Checks a value that was read `at` a place of the payload, or by the expression of a setting. */
type Check<T> = (value: unknown, at: string, setting: string) => T;

function compileReader<T>(
  raw: unknown,
  setting: string,
  wanted: Wanted,
  check: Check<T>,
  findings: Findings,
): Reader<T> | undefined {
  const evaluate = compileExpression(raw, setting, OF_PAYLOAD, wanted, findings);
  if (evaluate !== undefined)
    return { read: (payload) => check(jsonOf(evaluate({ payload })), `${setting}.cel`, setting) };
  const path = payloadPath(raw, setting, findings);
  if (path === undefined) return undefined;
  return { path, read: (payload) => check(readPath(payload, path), `payload ${path.join('.')}`, setting) };
}

function payloadPath(text: unknown, at: string, findings: Findings): Path | undefined {
  if (typeof text !== 'string') return undefined;
  if (text.includes('{{')) {
    findings.add(at, `expected a path inside the payload such as customer.id, got a template: ${show(text)}`);
    return undefined;
  }
  const path = parsePath(text);
  if (!isBad(path)) return path;
  findings.add(at, `${path.bad}; got ${show(text)}`);
  return undefined;
}

/** Returns a check for a key: text, or a number or boolean as text. */
const asKey =
  (bytesMax: number): Check<string> =>
  (value, at, setting) => {
    const key = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
    if (typeof key !== 'string')
      throw new Error(`${at}: expected text or a number (the ${setting}), got ${show(value)}`);
    const bytes = Buffer.byteLength(key);
    if (bytes < 1 || bytes > bytesMax)
      throw new Error(`${at}: expected 1-${bytesMax} bytes (the ${setting}), got ${bytes}`);
    return key;
  };

const asWeight: Check<number> = (weight, at) => {
  if (typeof weight === 'number' && Number.isFinite(weight) && weight >= 0) return weight;
  throw new Error(`${at}: expected a number of at least 0 (the weight), got ${show(weight)}`);
};

/**
 * Compiles the user's JSON Schema, if there is one, and a check that everything is there that the
 * settings read from a payload.
 */
function compileSchema(
  raw: unknown,
  used: readonly (readonly [string, Path | undefined])[],
  plan: Omit<PayloadPlan, 'schema'>,
  references: readonly Reference[],
  findings: Findings,
): StandardSchemaV1 {
  const isObject = typeof raw === 'object' && raw !== null && !Array.isArray(raw);
  const judge = isObject ? compileJsonSchema(raw, 'schema', findings) : undefined;
  for (const [at, path] of isObject ? used : []) {
    const problem = path === undefined ? undefined : undeclared(raw, path);
    if (problem !== undefined) findings.add(at, problem);
  }
  const validate = (payload: unknown): StandardSchemaV1.Result<unknown> => {
    const { value, faults } = judge?.(payload) ?? { value: payload, faults: [] };
    const issues = faults.length > 0 ? faults : [...missing(references, value), ...unreadable(plan, value)];
    return issues.length > 0 ? { issues } : { value };
  };
  return { '~standard': { version: 1, vendor: 'muster', validate } };
}

/** Returns what an item of the request takes from a payload that lacks it. */
const missing = (references: readonly Reference[], payload: unknown): Fault[] =>
  references
    .filter(({ root, path, optional }) => root === 'payload' && !optional && readPath(payload, path) === undefined)
    .map(({ path, text }) => ({ path, message: `expected a value (request.item takes {{${text}}}), got nothing` }));

/** Returns why the target, weight and keys cannot be read from a payload. */
function unreadable(plan: Omit<PayloadPlan, 'schema'>, payload: unknown): Fault[] {
  const { service, reads, writes } = plan.order;
  const named = service && ((value: unknown) => service('', value));
  return [plan.target, plan.weightOf, plan.distinctBy, plan.coalesceBy, named, reads, writes].flatMap((read) => {
    try {
      read?.(payload);
      return [];
    } catch (error) {
      return [{ path: [], message: error instanceof Error ? error.message : show(error) }];
    }
  });
}

const OPENS = ['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'not', '$dynamicRef'];

/**
 * Returns a problem if a schema does not declare a path: that is more likely a typo than a property
 * left undeclared on purpose. Undefined: the path is declared, or the schema is open there.
 */
function undeclared(schema: unknown, path: Path): string | undefined {
  let node = schema;
  for (const [depth, name] of path.entries()) {
    if (OPENS.some((key) => member(node, key) !== undefined)) return undefined;
    const properties = member(node, 'properties');
    if (typeof properties !== 'object' || properties === null) return undefined;
    const next = member(properties, name);
    if (next === undefined) {
      const extra = member(node, 'additionalProperties');
      if (extra !== undefined && extra !== false) return undefined;
      const known = Object.keys(properties);
      const hint = didYouMean(name, known) || `; known there: ${known.join(', ')}`;
      return `expected a path that the schema declares, got ${path.slice(0, depth + 1).join('.')}${hint} (additionalProperties: true says that there are others)`;
    }
    node = next;
  }
  return undefined;
}
