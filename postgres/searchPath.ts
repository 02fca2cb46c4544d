/**
 * Returns where unqualified names are looked up: in Muster's schema, and in temporary tables last.
 * Left out, these would come first, and a `task` that a caller's transaction, or another program in
 * a pooler's session, has made would stand in for ours. The system's own names always come first.
 * This text is for `set_config` and a session's options.
 */
export const searchPath = (schema: string): string => `${schema}, pg_temp`;

/** Returns the same as a statement: for `set`, quoted text would be one name. */
export const setSearchPath = (schema: string): string => `set local search_path = "${schema}", pg_temp`;
