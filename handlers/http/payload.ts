import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Findings } from '../configError';
import { didYouMean } from '../suggest';
import { show } from '../text';
import type { Fault } from './jsonSchema/jsonSchema';
import { compileJsonSchema } from './jsonSchema/jsonSchema';
import type { Path } from './path';
import type { OrderPlan } from './stateKeys';
import { compileOrder } from './stateKeys';
import { isBad, member, parsePath, readPath } from './path';
import type { Reference } from './template';

/**
 * What a handler reads from a payload: the target, weight, `distinctBy` key, service and state
 * keys; with the schema that checks that all of it is there.
 */
export interface PayloadPlan {
  readonly schema: StandardSchemaV1;
  target(payload: unknown): string;
  readonly weightOf?: (payload: unknown) => number;
  readonly distinctBy?: (payload: unknown) => string;
  readonly order: OrderPlan;
}

const TARGET_BYTES_MAX = 512;

/**
 * Compiles the paths into the payload. `references` are those of the item template, whose values
 * must be there too.
 */
export function compilePayload(config: unknown, references: readonly Reference[], findings: Findings): PayloadPlan {
  const target = member(config, 'target');
  const constant = member(target, 'constant');
  const keyAt = payloadPath(target, 'target', findings);
  const weightAt = payloadPath(member(config, 'weight'), 'weight', findings);
  const distinctAt = payloadPath(member(config, 'distinctBy'), 'distinctBy', findings);
  const order = compileOrder(config, findings);
  const plan = {
    order,
    target:
      typeof constant === 'string'
        ? () => constant
        : (payload: unknown) => readKey(payload, keyAt ?? [], 'target', TARGET_BYTES_MAX),
    weightOf: weightAt && ((payload: unknown) => readWeight(payload, weightAt)),
    distinctBy: distinctAt && ((payload: unknown) => readKey(payload, distinctAt, 'distinctBy', Infinity)),
  };
  const used: [string, Path | undefined][] = [
    ['target', keyAt],
    ['weight', weightAt],
    ['distinctBy', distinctAt],
    ...order.paths.map(([at, path]): [string, Path] => [at, path]),
  ];
  for (const reference of references)
    if (reference.root === 'payload' && !reference.optional) used.push(['request.item', reference.path]);
  return { ...plan, schema: compileSchema(member(config, 'schema'), used, plan, references, findings) };
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

/** Reads a key from a payload: text, or a number or boolean as text. */
function readKey(payload: unknown, path: Path, setting: string, bytesMax: number): string {
  const value = readPath(payload, path);
  const key = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;
  if (typeof key !== 'string')
    throw new Error(`payload ${path.join('.')}: expected text or a number (the ${setting}), got ${show(value)}`);
  const bytes = Buffer.byteLength(key);
  if (bytes < 1 || bytes > bytesMax)
    throw new Error(`payload ${path.join('.')}: expected 1-${bytesMax} bytes (the ${setting}), got ${bytes}`);
  return key;
}

function readWeight(payload: unknown, path: Path): number {
  const weight = readPath(payload, path);
  if (typeof weight === 'number' && Number.isFinite(weight) && weight >= 0) return weight;
  throw new Error(`payload ${path.join('.')}: expected a number of at least 0 (the weight), got ${show(weight)}`);
}

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
  return [plan.target, plan.weightOf, plan.distinctBy, named, reads, writes].flatMap((read) => {
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
