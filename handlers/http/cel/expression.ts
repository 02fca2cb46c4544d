import type { Findings } from '../../configError';
import { didYouMean } from '../../suggest';
import { cutText, show } from '../../text';
import { member } from '../path';
import { countedText, visitNodes } from './counted';
import type { Engine, Environment, Program } from './engine';
import { CEL_PACKAGE, loadEngine } from './engine';
import { OVER } from './meter';

/** What an expression may name, with the type of each in CEL. */
export type Names = Readonly<Record<string, 'dyn' | 'int'>>;
export const OF_PAYLOAD: Names = { payload: 'dyn' };
/** One result of an answer. */
export const OF_ITEM: Names = { item: 'dyn' };
/** The answer of a look-up. */
export const OF_ANSWER: Names = { body: 'dyn' };
/** An answer that refuses a call; its body is null unless it is JSON. */
export const OF_REFUSAL: Names = { status: 'int', body: 'dyn' };

/** What an expression must give, and the types in CEL that can be it. */
export interface Wanted {
  readonly what: string;
  readonly types: RegExp;
}

/** Returns an expression's value. Throws an Error that names the setting if it has none. */
export type Evaluate = (scope: Readonly<Record<string, unknown>>) => unknown;

const EXPRESSION_CHARACTERS_MAX = 4_096;

/** Returns the text of `{"cel": "..."}`; undefined: the setting is something else. */
export function celIn(raw: unknown): string | undefined {
  const text = member(raw, 'cel');
  return typeof text === 'string' ? text : undefined;
}

/**
 * Compiles `{"cel": "..."}`. Undefined: it is no expression, or one whose problems were reported
 * with their place under `at`.
 */
export function compileExpression(
  raw: unknown,
  at: string,
  names: Names,
  wanted: Wanted,
  findings: Findings,
): Evaluate | undefined {
  const text = celIn(raw);
  if (text === undefined || text === '') return undefined; // the schema reports that
  const place = `${at}.cel`;
  if (text.length > EXPRESSION_CHARACTERS_MAX) {
    const most = EXPRESSION_CHARACTERS_MAX.toLocaleString('en-US');
    findings.add(place, `expected at most ${most} characters, got ${text.length.toLocaleString('en-US')}`);
    return undefined;
  }
  const engine = loadEngine();
  if (engine === undefined) {
    findings.add(
      place,
      `expected the package ${CEL_PACKAGE} beside temporal-muster, found none. Run "npm install ${CEL_PACKAGE}"`,
    );
    return undefined;
  }
  try {
    const written = declared(engine.written, names).parse(text);
    checkWritten(engine, written, wanted);
    return evaluator(engine, declared(engine.counted, names).parse(countedText(written.ast)), at);
  } catch (error) {
    findings.add(place, problemOf(error, text, names));
    return undefined;
  }
}

const declared = (environment: Environment, names: Names): Environment =>
  Object.entries(names).reduce((all, [name, type]) => all.registerVariable(name, type), environment.clone());

/** Checks what the expression gives, and its patterns. Throws what is wrong with it. */
function checkWritten({ patternOf }: Engine, program: Program, { what, types }: Wanted): void {
  const { valid, type = '', error } = program.check();
  if (!valid) throw error!;
  if (!types.test(type)) throw new Error(`expected an expression that gives ${what}, got one that gives ${type}`);
  visitNodes(program.ast, (node) => {
    if (node.op !== 'rcall' || node.args[0] !== 'matches') return;
    const [pattern] = node.args[2];
    if (pattern?.op !== 'value' || typeof pattern.args !== 'string')
      throw new Error('expected a literal pattern in matches(), got an expression');
    patternOf(pattern.args);
  });
}

function evaluator({ meter }: Engine, program: Program, at: string): Evaluate {
  return (scope) => {
    meter.begin();
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0; // an error per turn of a loop is no news, and its stack takes longest
    try {
      const value: unknown = program(scope);
      if (!meter.isOver) return value;
    } catch (error) {
      if (!meter.isOver) throw new Error(`${at}: cannot be evaluated: ${cutText(summaryOf(error), 200)}`);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
    throw new Error(`${at}: cannot be evaluated: ${OVER}`);
  };
}

/** Returns an error's message in one line, without the source that the package draws below it. */
function summaryOf(error: unknown): string {
  const { summary, message } = error as { summary?: unknown; message?: unknown };
  return String(summary ?? message).split('\n')[0]!;
}

function problemOf(error: unknown, text: string, names: Names): string {
  const summary = summaryOf(error);
  const start = (error as { range?: { start?: unknown } }).range?.start;
  if (typeof start !== 'number') return summary;
  const known = Object.keys(names);
  const unknown = /^Unknown variable: (.*)$/.exec(summary)?.[1];
  const hint = unknown === undefined ? '' : didYouMean(unknown, known) || `; known here: ${known.join(', ')}`;
  return `expected CEL, got at character ${start + 1} of ${show(text)}: ${cutText(summary, 200)}${hint}`;
}
