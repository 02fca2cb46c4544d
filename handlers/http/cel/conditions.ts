import type { Findings } from '../../configError';
import { member } from '../path';
import type { Names } from './expression';
import { celIn, compileExpression } from './expression';
import { CONDITION, isTrue } from './values';

/** What an answer means, as expressions say. */
export interface Conditions<N extends string> {
  /**
   * Returns the name of the first condition that is true, in the order written. Throws an Error for
   * one that cannot be evaluated: nothing is known then.
   */
  find(scope: Readonly<Record<string, unknown>>): N | undefined;
}

/**
 * Compiles the expressions of a table such as `{ok: ["done"], retry: {"cel": "item.code == 7"}}`.
 * Undefined: there is none.
 */
export function compileConditions<N extends string>(
  raw: unknown,
  names: readonly N[],
  at: string,
  variables: Names,
  findings: Findings,
): Conditions<N> | undefined {
  const written = Object.keys(typeof raw === 'object' && raw !== null ? raw : {});
  const own = written.filter((name): name is N => names.some((known) => known === name));
  const conditions = own.flatMap((name) => {
    const place = `${at}.${name}`;
    const evaluate = compileExpression(member(raw, name), place, variables, CONDITION, findings);
    return evaluate === undefined ? [] : [{ name, isMet: (scope: Scope) => isTrue(evaluate(scope), place) }];
  });
  if (!own.some((name) => celIn(member(raw, name)) !== undefined)) return undefined;
  return { find: (scope) => conditions.find(({ isMet }) => isMet(scope))?.name };
}

type Scope = Readonly<Record<string, unknown>>;
