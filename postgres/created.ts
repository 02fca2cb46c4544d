/**
 * The Unix microsecond in which a row was created. After a restored backup sequences give numbers
 * again, and a number alone names another row then; with this it does not.
 */
export const createdUs = (row: string): string => `(extract(epoch from ${row}.created_at) * 1000000)::bigint`;
