/**
 * Returns a condition: a name is one of those of a parameter, or begins as one with a `*` says; as
 * `isAllowed` of the HTTP API decides.
 */
export const isAllowedName = (column: string, parameter: string): string => `exists (
      select from unnest(${parameter}::text[]) one
      where case when right(one, 1) = '*' then starts_with(${column}, left(one, -1)) else ${column} = one end)`;
