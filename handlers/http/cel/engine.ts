import type * as CelJs from '@marcbachmann/cel-js' with { 'resolution-mode': 'import' };
import { lazily, linearPattern } from '../jsonSchema/linearPattern';
import { GIVEN, MATCHES, NEEDLE, SPEND, TURN } from './counted';
import { Meter, NEEDLE_CHARACTERS_MAX } from './meter';

export const CEL_PACKAGE = '@marcbachmann/cel-js';

export type Environment = CelJs.Environment;
export type Program = CelJs.ParseResult;

/** What expressions are read and evaluated with. */
export interface Engine {
  readonly meter: Meter;
  /** Reads expressions as they are written. */
  readonly written: Environment;
  /** Reads the same expressions with what counts their cost. */
  readonly counted: Environment;
  /** Returns a pattern that is matched in linear time. Throws for what has no such matcher. */
  patternOf(pattern: string): Pattern;
}

type Pattern = ReturnType<typeof linearPattern>;

const AST_NODES_MAX = 500;
const DEPTH_MAX = 50;
const LITERAL_MEMBERS_MAX = 200;
const CALL_ARGUMENTS_MAX = 8;

const LIMITS = {
  maxAstNodes: AST_NODES_MAX,
  maxDepth: DEPTH_MAX,
  maxListElements: LITERAL_MEMBERS_MAX,
  maxMapEntries: LITERAL_MEMBERS_MAX,
  maxCallArguments: CALL_ARGUMENTS_MAX,
};
/** Counting adds calls, their arguments and brackets, a fixed number per node. */
const COUNTED_LIMITS = { ...LIMITS, maxAstNodes: AST_NODES_MAX * 8, maxDepth: DEPTH_MAX * 12 };

/** Module state, since functions and operators are the same for all expressions. */
let engine: Engine | undefined;

/** Returns the engine; undefined: its package is not installed. */
export function loadEngine(): Engine | undefined {
  try {
    return (engine ??= createEngine(lazily(CEL_PACKAGE) as typeof CelJs));
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: unknown };
    if (code === 'MODULE_NOT_FOUND' && String(message).includes(`'${CEL_PACKAGE}'`)) return undefined;
    throw error;
  }
}

function createEngine(celJs: typeof CelJs): Engine {
  const meter = new Meter();
  const patternOf = patternCache();
  // Lists of JSON have members of any type, so may those of an expression.
  const options = { homogeneousAggregateLiterals: false };
  const counted = new celJs.Environment({ ...options, limits: COUNTED_LIMITS })
    .registerFunction(`${TURN}(): bool`, () => meter.turn())
    .registerFunction(`${GIVEN}(dyn): dyn`, (value: unknown) => meter.given(value))
    .registerFunction(`${SPEND}(dyn): dyn`, (value: unknown) => meter.spend(value))
    .registerFunction(`${NEEDLE}(dyn): dyn`, (value: unknown) => checkNeedle(meter.spend(value)))
    .registerFunction(`string.${MATCHES}(string): bool`, (text: string, pattern: string) =>
      patternOf(pattern).test(meter.readText(text)),
    );
  return { meter, counted, patternOf, written: new celJs.Environment({ ...options, limits: LIMITS }) };
}

function checkNeedle(value: unknown): unknown {
  if (typeof value === 'string' && value.length > NEEDLE_CHARACTERS_MAX)
    throw new Error(`expected at most ${NEEDLE_CHARACTERS_MAX} characters to look for in a text, got ${value.length}`);
  return value;
}

/** Returns what compiles a pattern once: each is a literal of a configuration. */
function patternCache(): (pattern: string) => Pattern {
  const known = new Map<string, Pattern>();
  return (pattern) => {
    const compiled = known.get(pattern) ?? linearPattern(pattern);
    known.set(pattern, compiled);
    return compiled;
  };
}
