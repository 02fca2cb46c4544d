import type { Findings } from '../../configError';
import { didYouMean } from '../../suggest';
import { show } from '../../text';
import { linearPattern } from './linearPattern';

/** The keywords of draft 2020-12, by what stands in them. */
const WITH_SCHEMA = [
  ...['additionalProperties', 'items', 'contains', 'not', 'if', 'then', 'else', 'propertyNames'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'],
];
const WITH_LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems'];
const WITH_MAP = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'];
const WITH_VALUES = [
  ...['$id', '$schema', '$ref', '$anchor', '$comment'],
  ...['type', 'enum', 'const', 'multipleOf', 'maximum', 'exclusiveMaximum', 'minimum', 'exclusiveMinimum'],
  ...['maxLength', 'minLength', 'pattern', 'maxItems', 'minItems', 'uniqueItems', 'maxContains', 'minContains'],
  ...['maxProperties', 'minProperties', 'required', 'dependentRequired', 'format'],
  ...['contentEncoding', 'contentMediaType'],
  ...['title', 'description', 'default', 'deprecated', 'readOnly', 'writeOnly', 'examples'],
];
const KNOWN: readonly string[] = [...WITH_SCHEMA, ...WITH_LIST, ...WITH_MAP, ...WITH_VALUES];

/** The only draft that is read. */
export const DRAFT = 'https://json-schema.org/draft/2020-12/schema';

/** What a schema has that its compiler must know. */
export interface Contents {
  /** Where each reference stands, and to what. */
  readonly refs: { readonly at: string; readonly ref: string }[];
  /** It fills in defaults: payloads are copied before. */
  hasDefaults: boolean;
}

const membersOf = (value: unknown): [string, unknown][] =>
  typeof value === 'object' && value !== null ? Object.entries(value) : [];

/**
 * Visits a schema and all within it. Reports unknown keywords, and patterns that cannot be matched
 * in linear time, each with its place.
 */
export function visitSchema(schema: unknown, at: string, findings: Findings, found: Contents): void {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return; // its meta-schema says more
  for (const [keyword, value] of membersOf(schema)) {
    const place = `${at}.${keyword}`;
    if (!KNOWN.includes(keyword))
      findings.add(
        place,
        `expected a keyword of JSON Schema 2020-12, got ${show(keyword)}${didYouMean(keyword, KNOWN)}`,
      );
    else if (WITH_SCHEMA.includes(keyword)) visitSchema(value, place, findings, found);
    else if (WITH_LIST.includes(keyword) || WITH_MAP.includes(keyword)) {
      for (const [name, one] of membersOf(value)) visitSchema(one, `${place}.${name}`, findings, found);
    }
    if (keyword === 'pattern') checkPattern(value, place, findings);
    if (keyword === 'patternProperties')
      for (const [pattern] of membersOf(value)) checkPattern(pattern, place, findings);
    if (keyword === '$schema' && value !== DRAFT)
      findings.add(place, `expected ${DRAFT} or nothing, got ${show(value)}`);
    if (keyword === '$ref') found.refs.push({ at: place, ref: String(value) });
    if (keyword === 'default') found.hasDefaults = true;
  }
}

function checkPattern(pattern: unknown, at: string, findings: Findings): void {
  if (typeof pattern !== 'string') return;
  try {
    linearPattern(pattern);
  } catch (error) {
    findings.add(
      at,
      `expected a regular expression that RE2 can match, without look-around and back references, got ` +
        `${show(pattern)}: ${(error as Error).message}`,
    );
  }
}
