import type { Payload } from '@temporalio/common';
import type { Unreadable } from '../planning/unreadable';
import { unreadable } from '../planning/unreadable';

const ENCODING_MAX = 100;

/** Returns the marker of a payload that could not be read, with the payload's encoding. */
export const unreadablePayload = ({ metadata }: Payload, error: unknown): Unreadable => {
  const bytes = metadata?.['encoding']?.slice(0, ENCODING_MAX) ?? [];
  return unreadable(error instanceof Error ? error.message : String(error), String.fromCharCode(...bytes));
};
