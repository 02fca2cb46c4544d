import type * as Ajv from 'ajv/dist/2020';
import type { Ajv2020, ErrorObject, ValidateFunction } from 'ajv/dist/2020';
import type * as Formats from 'ajv-formats';
import type { Findings } from '../../configError';
import { show } from '../../text';
import type { Contents } from './keywords';
import { DRAFT, visitSchema } from './keywords';
import { lazily, linearPattern } from './linearPattern';
import { areUnique } from './uniqueItems';

/** One thing that a payload does wrong: its place, and what was expected. */
export interface Fault {
  readonly path: readonly string[];
  readonly message: string;
}

/** What a schema says of a payload: what is wrong, and the payload with its defaults filled in. */
export interface Judgement {
  readonly value: unknown;
  readonly faults: readonly Fault[];
}

const engine = Object.assign(linearPattern, { code: 'linearPattern' });

/** Returns a compiler of draft 2020-12, which stops at the first fault and fetches nothing. */
function createAjv(): Ajv2020 {
  const { Ajv2020: Compiler } = lazily('ajv/dist/2020') as typeof Ajv;
  const { default: addFormats } = lazily('ajv-formats') as typeof Formats;
  const ajv = new Compiler({
    strictSchema: true,
    validateSchema: false, // that is done before, with better messages
    allowMatchingProperties: true,
    ownProperties: true,
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    useDefaults: true,
    verbose: true,
    logger: false,
    code: { regExp: engine },
  });
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    compile: (isAsked: boolean) => (items: unknown) => !isAsked || areUnique(items as readonly unknown[]),
    error: { message: 'must NOT have duplicate items' },
  });
  ajv.addKeyword('$anchor'); // it is followed, but not known to the strict mode
  addFormats(ajv);
  return ajv;
}

/** Module state, since the meta-schema is the same for all, and takes 50 ms to compile. */
let meta: ValidateFunction | undefined;

/** Reports what the meta-schema has against a schema. */
function checkByMetaSchema(schema: object, at: string, findings: Findings): void {
  const { Ajv2020: Compiler } = lazily('ajv/dist/2020') as typeof Ajv;
  meta ??= new Compiler({ strict: false, verbose: true, validateFormats: false, logger: false }).getSchema(DRAFT)!;
  if (meta(schema)) return;
  for (const { path, message } of (meta.errors ?? []).slice(0, 1).map(faultOf))
    findings.add([at, ...path].join('.'), `expected a JSON Schema that can be read (draft 2020-12): ${message}`);
}

/**
 * Compiles a JSON Schema of draft 2020-12. Undefined: it cannot be read; each problem was reported
 * with its place under `at`.
 */
export function compileJsonSchema(
  schema: object,
  at: string,
  findings: Findings,
): ((payload: unknown) => Judgement) | undefined {
  const found: Contents = { refs: [], hasDefaults: false };
  const before = findings.problems.length;
  checkByMetaSchema(schema, at, findings);
  visitSchema(schema, at, findings, found);
  if (findings.problems.length > before) return undefined;
  try {
    const validate = createAjv().compile(schema);
    return (payload) => judge(validate, found.hasDefaults ? structuredClone(payload) : payload);
  } catch (error) {
    report(error, at, found, findings);
    return undefined;
  }
}

function report(error: unknown, at: string, { refs }: Contents, findings: Findings): void {
  const missing = (error as { missingRef?: unknown }).missingRef;
  if (typeof missing !== 'string')
    return findings.add(
      at,
      `expected a JSON Schema that can be read (draft 2020-12), got: ${(error as Error).message}`,
    );
  const place = refs.find(({ ref }) => missing.endsWith(ref))?.at ?? at;
  findings.add(
    place,
    `expected a reference within this schema, such as #/$defs/name, got ${show(missing)}: nothing is fetched`,
  );
}

function judge(validate: ValidateFunction, payload: unknown): Judgement {
  const faults = validate(payload) ? [] : (validate.errors ?? []).map(faultOf);
  return { value: payload, faults };
}

const unescaped = (segment: string): string => segment.replaceAll('~1', '/').replaceAll('~0', '~');

/** Returns the member that an error is about, where ajv names only what contains it. */
function memberOf({ keyword, params, propertyName }: ErrorObject): string | undefined {
  const named = params as Readonly<Record<string, unknown>>;
  const member =
    named['missingProperty'] ?? named['additionalProperty'] ?? named['unevaluatedProperty'] ?? propertyName;
  return typeof member === 'string' && keyword !== 'if' ? member : undefined;
}

function faultOf(error: ErrorObject): Fault {
  const { instancePath, message = 'is refused', data, keyword, params } = error;
  const path = instancePath.split('/').slice(1).map(unescaped);
  const member = memberOf(error);
  const allowed = (params as { allowedValue?: unknown; allowedValues?: readonly unknown[] }).allowedValues;
  const among =
    keyword === 'enum'
      ? `: ${allowed!
          .slice(0, 20)
          .map((one) => show(one, 80))
          .join(', ')}`
      : '';
  if (member === undefined) return { path, message: `${message}${among}, got ${show(data)}` };
  const isMissing = 'missingProperty' in params;
  return { path: [...path, member], message: isMissing ? `${message}, got nothing` : message };
}
