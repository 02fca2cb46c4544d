import type { AttributeValue } from '@aws-sdk/client-dynamodb';

const OWN_FORM = '$dynamodb';

/**
 * Returns a JSON value as DynamoDB stores it: texts, numbers, booleans, null, lists and maps. Sets
 * and bytes, which JSON has not, are given in DynamoDB's own form under the key `$dynamodb`:
 * `{"$dynamodb": {"SS": ["a"]}}`.
 */
function attributeOf(value: unknown): AttributeValue {
  if (typeof value === 'string') return { S: value };
  if (typeof value === 'number') return { N: String(value) };
  if (typeof value === 'boolean') return { BOOL: value };
  if (Array.isArray(value)) return { L: value.map(attributeOf) };
  if (typeof value !== 'object' || value === null) return { NULL: true };
  const own = (value as Record<string, unknown>)[OWN_FORM];
  if (own !== undefined) return own as AttributeValue;
  return { M: attributesOf(value as Record<string, unknown>) };
}

/** Returns an item or a key, attribute by attribute. */
export const attributesOf = (item: Readonly<Record<string, unknown>>): Record<string, AttributeValue> =>
  Object.fromEntries(Object.entries(item).map(([name, value]) => [name, attributeOf(value)]));
