import type { StandardSchemaV1 } from '@standard-schema/spec';
import { show } from '../text';

/** What a payload schema says: the value as it transforms it, or what is wrong with which field. */
export type Parsed =
  | { readonly value: unknown }
  | { readonly issues: readonly { readonly path: readonly string[]; readonly message: string }[] };

/** A schema answers asynchronously, for which a submit cannot wait. */
export class AsyncSchema extends Error {
  override readonly name = 'AsyncSchema';
}

/** The schema of a contract that names none: any JSON. */
export const anyJson: StandardSchemaV1 = {
  '~standard': { version: 1, vendor: 'muster', validate: (value) => ({ value }) },
};

/** As zod has it, whose `~standard` answers asynchronously where a refinement throws. */
interface SafeParse {
  safeParse(
    value: unknown,
  ): { success: true; data: unknown } | { success: false; error: StandardSchemaV1.FailureResult };
}

const has = (value: unknown, key: string): boolean =>
  ((typeof value === 'object' && value !== null) || typeof value === 'function') && key in value;

const isZod = (schema: object): schema is SafeParse => has(schema, 'safeParse');

/** Says whether a value can be the schema of payloads. */
export const isSchema = (value: unknown): value is StandardSchemaV1 =>
  has(value, '~standard') || has(value, 'safeParse');

const isAsyncOfZod = (error: unknown): boolean => error instanceof Error && /ZodAsync/.test(error.constructor.name);

function validate(schema: StandardSchemaV1, payload: unknown): StandardSchemaV1.Result<unknown> {
  if (isZod(schema)) {
    const parsed = schema.safeParse(payload);
    return parsed.success ? { value: parsed.data } : parsed.error;
  }
  const result = schema['~standard'].validate(payload);
  if (!(result instanceof Promise)) return result;
  result.catch(() => undefined); // its answer is not waited for, whatever it is
  throw new AsyncSchema('the schema answered with a promise');
}

const keyOf = (segment: PropertyKey | StandardSchemaV1.PathSegment): string =>
  String(typeof segment === 'object' ? segment.key : segment);

/**
 * Checks a payload by a schema of any library. Throws `AsyncSchema`, and whatever a function within
 * the schema throws.
 */
export function parsePayload(schema: StandardSchemaV1, payload: unknown): Parsed {
  let result: StandardSchemaV1.Result<unknown>;
  try {
    result = validate(schema, payload);
  } catch (error) {
    // The error is recognised by its name, since the caller's zod may be another copy than ours.
    if (isAsyncOfZod(error)) throw new AsyncSchema('the schema has an asynchronous part', { cause: error });
    throw error;
  }
  if (result.issues === undefined) return { value: result.value };
  const issues = result.issues.map(({ path = [], message }) => ({ path: path.map(keyOf), message }));
  return { issues: issues.length > 0 ? issues : [{ path: [], message: NO_ISSUE }] };
}
/** A refusal that lists nothing would leave the task out and tell no one. */
const NO_ISSUE =
  'the schema refuses it and names no issue. Have it leave out "issues" where it accepts a value, else name one';

/** Returns the payload as its schema transforms it. Throws an error that names the wrong fields. */
export function payloadBy(schema: StandardSchemaV1, payload: unknown): unknown {
  const parsed = parsePayload(schema, payload);
  if ('value' in parsed) return parsed.value;
  const faults = parsed.issues.map(({ path, message }) => `${['payload', ...path].join('.')}: ${message}`);
  throw new Error(`${faults.join('; ')}; got ${show(payload)}`);
}
