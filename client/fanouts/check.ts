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

/** Checks the arguments of the verbs of fan-outs. */

export interface OpenFanoutOptions {
  /** The caller's name for it, 1-1,024 bytes; returned with its completion. */
  userKey?: string;
  /**
   * Items per segment, 1-8,000; default 512. Large: fewer bytes per item; small: cheaper single
   * acks.
   */
  segmentSize?: number;
  /**
   * Receiver of its one message, when it is complete or has expired: a workflow's signal, or a
   * signed webhook. Default: none; wait or poll.
   */
  notify?: Callback;
  /**
   * A UUID chosen by the caller: opening again with the same is the same fan-out. Default: a new
   * one.
   */
  id?: string;
}

/** How items are added. */
export interface AddItemsOptions {
  /**
   * 1-200 bytes: an add that is repeated with the same key and number adds nothing more and returns
   * the same.
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
