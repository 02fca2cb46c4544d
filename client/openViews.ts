import { hasTokens, isEnveloped } from '../handlers/codec/envelope';
import type { Sealer } from '../handlers/codec/sealer';
import type { ValueKind } from '../handlers/codec/types';

/** Fields that hold a value of the caller or of the downstream, and what it is. */
const FIELDS: Readonly<Record<string, ValueKind>> = {
  payload: 'payload',
  metadata: 'metadata',
  result: 'result',
  data: 'result',
};

interface Found {
  values: { holder: Record<string, unknown>; field: string }[];
  texts: { holder: Record<string, unknown>; field: string }[];
}

/**
 * Decodes the values and texts of a view, in place. A value that cannot be decoded stays as it is
 * stored, and the view's `encoded` says why.
 */
const openViews = async <T>(sealer: Sealer, view: T): Promise<T> => {
  const found: Found = { values: [], texts: [] };
  collect(view, found);
  for (const kind of new Set(Object.values(FIELDS))) {
    const some = found.values.filter(({ field }) => FIELDS[field] === kind);
    const opened = await sealer.open(
      kind,
      some.map(({ holder, field }) => JSON.stringify(holder[field])),
      // What has such a field is a task, an item of a lane or its end, by its id.
      some.map(({ holder: { id } }) => (typeof id === 'string' ? id : null)),
    );
    some.forEach(({ holder, field }, i) => {
      const one = opened[i]!;
      const isOpen = typeof one === 'string';
      if (isOpen) holder[field] = JSON.parse(one) as unknown;
      note(holder, field, isOpen ? null : one.message);
    });
  }
  const texts = await sealer.openTexts(found.texts.map(({ holder, field }) => holder[field] as string));
  found.texts.forEach(({ holder, field }, i) => {
    holder[field] = texts[i];
    if (holder['encoded'] !== undefined) note(holder, field, null);
  });
  return view;
};

/** Returns a verb whose answers are decoded. */
export const opening =
  <A extends unknown[], R>(sealer: Sealer, verb: (...given: A) => R) =>
  (...given: A): R => {
    const answer = verb(...given);
    return answer instanceof Promise ? (answer.then((view: unknown) => openViews(sealer, view)) as R) : answer;
  };

/** Notes why a field is encoded; null: it is not any more. */
const note = (holder: Record<string, unknown>, field: string, why: string | null): void => {
  const { [field]: _, ...others } = (holder['encoded'] ?? {}) as Record<string, string>;
  const encoded = why === null ? others : { ...others, [field]: why };
  if (Object.keys(encoded).length === 0) delete holder['encoded'];
  else holder['encoded'] = encoded;
};

const collect = (view: unknown, found: Found): void => {
  if (Array.isArray(view)) {
    if (typeof view[0] === 'object') for (const one of view) collect(one, found);
    else collectTexts(view as unknown as Record<string, unknown>, found);
    return;
  }
  if (typeof view !== 'object' || view === null || Object.getPrototypeOf(view) !== Object.prototype) return;
  const holder = view as Record<string, unknown>;
  for (const [field, value] of Object.entries(holder))
    if (FIELDS[field] !== undefined) {
      // What is in a value is its owner's: it is not looked at.
      if (isEnveloped(value)) found.values.push({ holder, field });
    } else if (typeof value === 'string') {
      if (hasTokens(value)) found.texts.push({ holder, field });
    } else collect(value, found);
};

const collectTexts = (list: Record<string, unknown>, found: Found): void => {
  for (const [place, value] of Object.entries(list))
    if (typeof value === 'string' && hasTokens(value)) found.texts.push({ holder: list, field: place });
};
