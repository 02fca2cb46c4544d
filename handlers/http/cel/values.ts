import { show } from '../../text';
import type { Wanted } from './expression';

/** Types of CEL, as the type checker names them; `dyn`: known when it is evaluated. */
const ONE = 'string|int|uint|double|bool|dyn.*';
export const KEY: Wanted = { what: 'text, a number or a boolean', types: new RegExp(`^(${ONE})$`) };
export const KEYS: Wanted = { what: 'a key or a list of keys', types: new RegExp(`^(${ONE}|list.*)$`) };
export const NUMBER: Wanted = { what: 'a number', types: /^(int|uint|double|dyn.*)$/ };
export const CONDITION: Wanted = { what: 'true or false', types: /^(bool|dyn.*)$/ };

/** Of a class of CEL's numbers. A payload may have a field named `valueOf`, which is data. */
const isNumber = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Object.hasOwn(value, 'valueOf') && !Array.isArray(value);

/** Returns a value of CEL as JSON has it: whole numbers are bigints there. */
export function jsonOf(value: unknown): unknown {
  const plain: unknown = isNumber(value) ? value.valueOf() : value;
  if (typeof plain !== 'bigint') return Array.isArray(value) ? value.map(jsonOf) : value;
  const number = Number(plain);
  return Number.isSafeInteger(number) ? number : String(plain);
}

export function isTrue(value: unknown, at: string): boolean {
  if (typeof value === 'boolean') return value;
  throw new Error(`${at}: expected an expression that gives true or false, got ${show(jsonOf(value))}`);
}
