import {
  ADD_ITEMS,
  DEFAULT_SEGMENT_SIZE,
  MAX_ADD_ITEMS,
  MAX_ITEMS,
  MAX_USER_KEY_BYTES,
} from '../../workflows/planning/fanouts/segments';
import { isFanoutId, MAX_SEGMENT_SIZE } from '../../workflows/planning/fanouts/itemId';
import { checkName, checkWhole } from '../arguments';
import type { Callback } from '../tasks/checkTasks';
import { checkCallback } from '../tasks/checkTasks';
import { InvalidArgumentError } from '../errors';

/** Checks the arguments of the verbs for fan-outs. */

/** Options of `fanouts.open`. */
export interface OpenFanoutOptions {
  /**
   * The caller's name for the fan-out, 1-1,024 bytes, returned with its completion. Default: none.
   */
  userKey?: string;
  /**
   * Items per segment, 1-8,000; default 512. Larger segments take fewer bytes per item, smaller
   * ones make single acks cheaper.
   */
  segmentSize?: number;
  /**
   * The receiver of one message when the fan-out is complete or has expired: a workflow that gets a
   * signal, or a signed webhook. Default: none, so that the caller waits or polls.
   */
  notify?: Callback;
  /**
   * A UUID in lower case, chosen by the caller: opening again with the same id and options returns
   * the same fan-out. Default: a new id.
   */
  id?: string;
  /** The tenant whose quotas it counts for, and who may see it. Default: none. */
  tenant?: string;
}

/** Options of `items.add` and `items.addInParts`. */
export interface AddItemsOptions {
  /**
   * A key of 1-200 bytes: repeating an add with the same key and number adds nothing and returns
   * the same items. Default: none, so that an add cannot be repeated safely.
   */
  key?: string;
  /** Most items per statement, 1-1,000,000; default 10,000. */
  itemsPerCall?: number;
}

const MAX_KEY_BYTES = 200;

export const checkFanoutId = (value: unknown): string => {
  if (!isFanoutId(value)) throw new InvalidArgumentError('fanout', 'the id of a fan-out, a UUID in lower case', value);
  return value;
};

const checkText = (field: string, value: unknown, maxBytes: number): string => {
  const text = checkName(field, value);
  const bytes = Buffer.byteLength(text);
  if (bytes > maxBytes || !text.isWellFormed())
    throw new InvalidArgumentError(field, `1-${maxBytes} bytes of well-formed text`, `${bytes} bytes`);
  return text;
};

export const checkOpening = (given: OpenFanoutOptions) => {
  const { userKey, segmentSize = DEFAULT_SEGMENT_SIZE, notify, id } = given;
  const callback = checkCallback(notify, (_field, _code, message) => {
    throw new InvalidArgumentError('notify', '{url: "https://..."} or {workflowId}', notify, message);
  });
  return {
    id: id === undefined ? null : checkFanoutId(id),
    userKey: userKey === undefined ? null : checkText('userKey', userKey, MAX_USER_KEY_BYTES),
    segmentSize: checkWhole('segmentSize', segmentSize, 1, MAX_SEGMENT_SIZE),
    callback,
  };
};

export const checkAdd = (items: unknown, { key, itemsPerCall = ADD_ITEMS }: AddItemsOptions) => ({
  items: checkWhole('items', items, 1, MAX_ITEMS),
  key: key === undefined ? null : checkText('key', key, MAX_KEY_BYTES),
  perCall: checkWhole('itemsPerCall', itemsPerCall, 1, MAX_ADD_ITEMS),
});
