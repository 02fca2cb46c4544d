import { isJsonObject } from './mergePatch';

/** What a schema made of a patched payload: is it what was asked for, and nothing else? */

/** Names from the outermost object on. */
export type MemberPath = readonly string[];

/**
 * Returns a member that the patch gives and the result lacks; null: there is none. The result may
 * have another value of it, as the schema transforms it. An array of another length is one.
 */
export const droppedMember = (patch: unknown, after: unknown): MemberPath | null => droppedPart(patch, after, true);

/** `isPatch`: null removes a member, which it does not inside an array, as that is replaced. */
const droppedPart = (given: unknown, after: unknown, isPatch: boolean): MemberPath | null => {
  if (Array.isArray(given)) return droppedOfArray(given, after);
  if (!isJsonObject(given) || !isJsonObject(after)) return null;
  for (const [name, part] of Object.entries(given)) {
    if (isPatch && part === null) continue;
    const inner = Object.hasOwn(after, name) ? droppedPart(part, after[name], isPatch) : [];
    if (inner !== null) return [name, ...inner];
  }
  return null;
};

const droppedOfArray = (given: readonly unknown[], after: unknown): MemberPath | null => {
  if (!Array.isArray(after) || after.length !== given.length) return null;
  for (const [place, part] of given.entries()) {
    const inner = droppedPart(part, after[place], false);
    if (inner !== null) return [String(place), ...inner];
  }
  return null;
};

/**
 * Returns a member beside the patch that is not in the result as it was before; null: there is
 * none. What the result has besides, such as defaults, is no change.
 */
export const changedMember = (before: unknown, after: unknown, patch: unknown): MemberPath | null => {
  if (!isJsonObject(before) || !isJsonObject(patch)) return null;
  if (!isJsonObject(after)) return [];
  for (const [name, value] of Object.entries(before)) {
    const isPatched = Object.hasOwn(patch, name);
    const now = Object.hasOwn(after, name) ? after[name] : undefined;
    const inner = isPatched ? changedMember(value, now, patch[name]) : changedPart(value, now);
    if (inner !== null) return [name, ...inner];
  }
  return null;
};

/** Returns where a value is not in another as it is; null: it is. */
const changedPart = (value: unknown, now: unknown): MemberPath | null => {
  if (isJsonObject(value)) return changedMember(value, now, {});
  if (!Array.isArray(value)) return value === now ? null : [];
  if (!Array.isArray(now) || now.length !== value.length) return [];
  for (const [place, one] of value.entries()) {
    const inner = changedPart(one, now[place]);
    if (inner !== null) return [String(place), ...inner];
  }
  return null;
};
