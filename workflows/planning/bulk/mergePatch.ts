/** A JSON value that has members. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns a JSON value changed by a JSON merge patch (RFC 7396): members that the patch has are
 * replaced, those that are null in it are removed, objects are merged member by member. Changes
 * neither of them, and shares nothing of the patch, which is used for many values.
 */
export const mergePatch = (value: unknown, patch: unknown): unknown => {
  if (!isJsonObject(patch)) return structuredClone(patch);
  const merged = new Map(isJsonObject(value) ? Object.entries(value) : []);
  for (const [name, part] of Object.entries(patch))
    if (part === null) merged.delete(name);
    else merged.set(name, mergePatch(merged.get(name), part));
  return Object.fromEntries(merged);
};

/** Says whether an object within a JSON value has such a member. */
export const hasMember = (value: unknown, name: string): boolean =>
  Array.isArray(value)
    ? value.some((one) => hasMember(one, name))
    : isJsonObject(value) && (Object.hasOwn(value, name) || Object.values(value).some((one) => hasMember(one, name)));
