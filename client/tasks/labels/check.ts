import { isEnvelope, RESERVED_FORM } from '../../../handlers/codec/envelope';
import type { Labels } from '../../../postgres/grouping/labels';
import { TASK_METADATA_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX } from '../../../workflows/planning/tags';
import { InvalidArgumentError } from '../../errors';
import { describe } from '../describe';
import type { Reject } from '../describe';

const TAG = `1-${TAG_BYTES_MAX} bytes of well-formed text without NUL`;

/** Returns a tag that a list or a bulk action is limited to. */
export const checkTag = (field: string, tag: unknown): string => {
  if (!isTag(tag)) throw new InvalidArgumentError(field, TAG, tag);
  return tag;
};

/** Returns the labels of a task; null: it has none, or they were refused. */
export const checkLabels = (
  { tags, metadata }: { tags?: unknown; metadata?: unknown },
  reject: Reject,
): Labels | null => {
  if ((tags ?? metadata ?? null) === null) return null;
  const labels = { tags: checkTags(tags ?? [], reject), metadata: checkMetadata(metadata ?? {}, reject) };
  return labels.tags.length === 0 && labels.metadata === null ? null : labels;
};

const checkTags = (tags: unknown, reject: Reject): string[] => {
  if (!Array.isArray(tags) || tags.length > TAGS_MAX) {
    const got = Array.isArray(tags) ? `${tags.length}` : describe(tags);
    reject('tags', 'INVALID_TAG', `expected an array of at most ${TAGS_MAX} texts, got ${got}`);
    return [];
  }
  for (const [i, tag] of tags.entries())
    if (!isTag(tag)) reject(`tags.${i}`, 'INVALID_TAG', `expected ${TAG}, got ${describe(tag)}`);
  return [...new Set(tags as string[])];
};

const checkMetadata = (metadata: unknown, reject: Reject): string | null => {
  const refuse = (field: string, message: string): null => {
    reject(field, 'INVALID_METADATA', message);
    return null;
  };
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata))
    return refuse('metadata', `expected an object of texts, got ${describe(metadata)}`);
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  for (const [name, value] of entries) {
    if (typeof value !== 'string') return refuse(`metadata.${name}`, `expected text, got ${describe(value)}`);
    if (!isStorable(name) || !isStorable(value))
      return refuse(`metadata.${name}`, `expected well-formed text without NUL, got ${describe(value)}`);
  }
  if (entries.length === 0) return null;
  const text = JSON.stringify(Object.fromEntries(entries));
  const size = Buffer.byteLength(text);
  if (size > TASK_METADATA_BYTES_MAX)
    return refuse(
      'metadata',
      `expected at most ${TASK_METADATA_BYTES_MAX} bytes of JSON, got ${size}. Put what is longer into the payload`,
    );
  return isEnvelope(text) ? refuse('metadata', RESERVED_FORM) : text;
};

const isTag = (tag: unknown): tag is string =>
  typeof tag === 'string' && tag !== '' && isStorable(tag) && Buffer.byteLength(tag) <= TAG_BYTES_MAX;

const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed();
