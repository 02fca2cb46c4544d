import type pg from 'pg';

/** A statement as every library of Postgres can send it: its values are scalars. */
export interface PortableStatement {
  text: string;
  values: unknown[];
}

/**
 * Arrays and JSON go as text that the server parses: what a library makes of an array, or of a text
 * for a JSON parameter, differs from one to the next.
 */
const PARSED_BY_SERVER = /\$(\d+)::(\w+\[\]|jsonb?\b)/g;

export const portable = ({ text, values = [] }: pg.QueryConfig): PortableStatement => ({
  text: text.replace(PARSED_BY_SERVER, '($$$1::text)::$2'),
  values: (values as unknown[]).map((value) => (Array.isArray(value) ? arrayText(value) : value)),
});

/** Writes a list of texts, numbers, booleans and nulls as Postgres reads an array. */
const arrayText = (values: readonly unknown[]): string => `{${values.map(elementText).join(',')}}`;

const elementText = (value: unknown): string =>
  value === null || value === undefined ? 'NULL' : `"${String(value).replace(/["\\]/g, '\\$&')}"`;

/**
 * Returns a statement with the numbered parameters `$1` of Postgres replaced by `?`, each with its
 * own value, and a literal `?` as `\?`.
 */
export const withQuestionMarks = ({ text, values }: PortableStatement): PortableStatement => {
  const inOrder: unknown[] = [];
  const replaced = text.replace(/\?|\$(\d+)/g, (found, number: string | undefined) => {
    if (number === undefined) return `\\${found}`;
    inOrder.push(values[Number(number) - 1]);
    return '?';
  });
  return { text: replaced, values: inOrder };
};
