import { LOWER_UUID } from '../uuid';

/** The id of an item, `fanoutId:segment:index`. An ack needs nothing else. */

export interface ItemPlace {
  /** A UUID in lower case. */
  fanout: string;
  /** From 0. */
  segment: number;
  /** From 0, below the segment's size. */
  index: number;
}

export const MAX_SEGMENT_SIZE = 8_000;
const MAX_SEGMENT = 2_147_483_647;

const ITEM_ID = new RegExp(`^(${LOWER_UUID}):(0|[1-9][0-9]{0,9}):(0|[1-9][0-9]{0,3})$`);
export const FANOUT_ID = new RegExp(`^${LOWER_UUID}$`);
/**
 * An id that a caller of the HTTP API chooses: not of version 8, which is made of the key of a
 * request, and which another caller could compute.
 */
export const CHOSEN_FANOUT_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-79a-f][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isFanoutId = (text: unknown): text is string => typeof text === 'string' && FANOUT_ID.test(text);

export const itemIdOf = (fanout: string, segment: number, index: number): string => `${fanout}:${segment}:${index}`;

/**
 * Parses the id of an item; null: it is malformed. Each item has exactly one spelling: without
 * leading zeros, blanks or capitals.
 */
export const parseItemId = (id: unknown): ItemPlace | null => {
  if (typeof id !== 'string') return null;
  const [, fanout, no, at] = ITEM_ID.exec(id) ?? [];
  if (fanout === undefined) return null;
  const segment = Number(no);
  const index = Number(at);
  return segment > MAX_SEGMENT || index >= MAX_SEGMENT_SIZE ? null : { fanout, segment, index };
};
