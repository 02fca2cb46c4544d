/** The pattern of a UUID in lower case. */
export const LOWER_UUID = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
/** A UUID in either case; without a flag, since patterns of JSON Schema have none. */
export const UUID = new RegExp(`^${LOWER_UUID.replaceAll('a-f', 'a-fA-F')}$`);

export const isUuid = (value: unknown): value is string => typeof value === 'string' && UUID.test(value);
