import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import type * as CelJs from '@marcbachmann/cel-js' with { 'resolution-mode': 'import' };
import { tests as conformance } from '@bufbuild/cel-spec/testdata/conformance.js';
import { Findings } from '../../../../handlers/configError';
import type { Names } from '../../../../handlers/http/cel/expression';
import { compileExpression } from '../../../../handlers/http/cel/expression';

/**
 * The official tests of google/cel-spec, as `@bufbuild/cel-spec` publishes them: those of the
 * language that handlers in JSON have, without protocol buffers, extensions and optional types.
 */
const SUITES = [
  'basic',
  'comparisons',
  'conversions',
  'fields',
  'fp_math',
  'integer_math',
  'lists',
  'logic',
  'macros',
  'parse',
  'plumbing',
  'string',
  'timestamps',
];
/** What needs protocol buffers or a container of names, which are not there. */
const FOREIGN = /TestAllTypes|google\.protobuf\.(?!Timestamp|Duration)|proto[23]|\bcel\.expr\b/;

type Value = Record<string, unknown>;
interface Case {
  name: string;
  expr: string;
  value?: Value;
  evalError?: unknown;
  bindings?: Record<string, { value: Value }>;
  container?: string;
  disableCheck?: boolean;
}
interface Suite {
  name: string;
  suites?: readonly Suite[];
  tests?: readonly { original: Case }[];
}

const casesOf = ({ tests = [], suites = [] }: Suite): Case[] => [
  ...tests.map(({ original }) => original),
  ...suites.flatMap(casesOf),
];

const isOurs = ({ expr, value, evalError, container, bindings = {} }: Case): boolean =>
  container === undefined &&
  !FOREIGN.test(expr) &&
  !FOREIGN.test(JSON.stringify([value, bindings])) &&
  (value !== undefined || evalError !== undefined) &&
  Object.values(bindings).every((one) => 'value' in one);

/** A value of the tests as CEL has it in this process. */
const read = (value: Value): unknown => {
  const [[kind, inner]] = Object.entries(value) as [[string, never]];
  switch (kind) {
    case 'int64Value':
    case 'uint64Value':
      return BigInt(inner);
    case 'doubleValue':
      return Number(inner === 'Infinity' || inner === '-Infinity' ? inner : inner);
    case 'nullValue':
      return null;
    case 'listValue':
      return ((inner as { values?: Value[] }).values ?? []).map(read);
    case 'mapValue':
      return new Map(
        ((inner as { entries?: { key: Value; value: Value }[] }).entries ?? []).map(
          ({ key, value: of }) => [read(key), read(of)] as const,
        ),
      );
    case 'bytesValue':
      return Buffer.from(inner, 'base64').toString('hex');
    default:
      return inner;
  }
};

/** A value that came out, in the same form. */
const told = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  if (Array.isArray(value)) return value.map(told);
  if (value instanceof Map) return new Map([...value].map(([key, of]) => [told(key), told(of)]));
  if (typeof value === 'object' && value !== null) {
    const plain: unknown = value.valueOf();
    if (typeof plain === 'bigint') return plain;
    if (Object.getPrototypeOf(value) === Object.prototype)
      return new Map(Object.entries(value).map(([key, of]) => [key, told(of)]));
    return String((value as { name?: unknown }).name ?? value);
  }
  return value;
};

const valuesOf = (bindings: NonNullable<Case['bindings']>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(bindings).map(([name, one]) => [name, read(one.value)]));

const ANY = { what: 'anything', types: /./ };

/** What an expression comes to, by what handlers in JSON use. */
const outcomeOf = ({ expr, bindings = {} }: Case): { value: unknown } | { error: string } => {
  const findings = new Findings();
  const names: Names = Object.fromEntries(Object.keys(bindings).map((name) => [name, 'dyn']));
  const evaluate = compileExpression({ cel: expr }, 'x', names, ANY, findings);
  if (evaluate === undefined) return { error: findings.problems.map(({ message }) => message).join() };
  try {
    return { value: told(evaluate(valuesOf(bindings))) };
  } catch (error) {
    return { error: (error as Error).message };
  }
};

const equals = (a: unknown, b: unknown): boolean => {
  try {
    expect(a).toEqual(b);
    return true;
  } catch {
    return false;
  }
};

const isAsTold = (one: Case): boolean => {
  const outcome = outcomeOf(one);
  if (one.value === undefined) return 'error' in outcome;
  if ('error' in outcome) return false;
  return equals(outcome.value, told(read(one.value)));
};

/** What differs in the package; docs/handlers/expressions.md has the kinds. */
const leftOut = JSON.parse(readFileSync(path.join(__dirname, 'leftOut.json'), 'utf8')) as Record<string, string[]>;

/** Whether the Node that runs knows time zones as `+11:00`; 20 does not. */
const knowsOffsets = ((): boolean => {
  try {
    new Intl.DateTimeFormat('en', { timeZone: '+11:00' });
    return true;
  } catch {
    return false;
  }
})();
const OF_OFFSETS = /'[-+]\d\d:\d\d'\)$/;
if (knowsOffsets) leftOut['timestamps'] = leftOut['timestamps']!.filter((one) => !OF_OFFSETS.test(one));

const { Environment } = createRequire(__filename)('@marcbachmann/cel-js') as typeof CelJs;
const suites = (conformance as unknown as Suite).suites!.filter(({ name }) => SUITES.includes(name));
const JUDGED = 1_078;

test('the official tests hold, but for what is listed', () => {
  const different: Record<string, string[]> = {};
  let judged = 0;
  for (const suite of suites)
    for (const one of casesOf(suite).filter(isOurs)) {
      judged++;
      if (!isAsTold(one)) (different[suite.name] ??= []).push(`${one.name}: ${one.expr}`);
    }
  expect(suites.map(({ name }) => name)).toEqual(SUITES);
  expect(different).toEqual(leftOut);
  expect(judged).toBe(JUDGED);
});

/** What an expression comes to by the package alone. */
const byPackage = ({ expr, bindings = {} }: Case): { value: unknown } | { error: true } => {
  const environment = new Environment({ homogeneousAggregateLiterals: false });
  for (const name of Object.keys(bindings)) environment.registerVariable(name, 'dyn');
  try {
    const program = environment.parse(expr);
    if (!program.check().valid) return { error: true };
    return { value: told(program(valuesOf(bindings))) };
  } catch {
    return { error: true };
  }
};

test('an expression that counts comes to what it comes to as it was written', () => {
  const all = suites.flatMap(casesOf).filter(isOurs);
  const different = all.filter((one) => {
    const [counted, written] = [outcomeOf(one), byPackage(one)];
    if ('error' in counted || 'error' in written) return 'error' in counted !== 'error' in written;
    return !equals(counted.value, written.value);
  });
  expect(different.map(({ name, expr }) => `${name}: ${expr}`)).toEqual([]);
  expect(all).toHaveLength(JUDGED);
});
