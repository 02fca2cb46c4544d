/** The pattern of a UUID in lower case. */
export const LOWER_UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/**
 * Matches a UUID in either case. It has no `i` flag, because patterns in JSON Schema have no flags.
 */
export const UUID = new RegExp(`^${LOWER_UUID.replaceAll('a-f', 'a-fA-F')}$`);

export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);
