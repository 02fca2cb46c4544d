import type { ItemResult, ReferenceStatus } from '../../contract';
import { cutText, show } from '../../text';
import type { OpenaiBatch } from './api';

/** A line of an output or error file. */
export interface OutputLine {
  custom_id: string;
  response: { status_code: number; body: unknown } | null;
  error: { code?: string; message?: string } | null;
}

/** Not executed, or by a service that was not well. */
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** Returns what a line of an output or error file says of its task. */
export function outputResult({ custom_id: id, response, error }: OutputLine): ItemResult {
  if (response === null) return { id, status: 'retry', error: cutText(`${error?.code}: ${error?.message ?? ''}`) };
  const { status_code: status, body } = response;
  if (status >= 200 && status <= 299) return { id, status: 'ok', result: body };
  return { id, status: PASSING.has(status) ? 'retry' : 'failed', error: cutText(`${status}: ${show(body, 1_000)}`) };
}

/**
 * Returns the state of a batch. A cancelled one is like one that has expired: what it did counts.
 */
export function batchStatus(reference: string, batch: OpenaiBatch | undefined): ReferenceStatus {
  switch (batch?.status) {
    case undefined:
      return { reference, status: 'lost', error: 'the API knows no such batch' };
    case 'completed':
      return { reference, status: 'done' };
    case 'expired':
    case 'cancelled':
      return { reference, status: 'expired', error: batch.status };
    case 'failed':
      return { reference, status: 'failed', error: cutText(problemsOf(batch)) };
    default:
      return { reference, status: 'pending' };
  }
}

const problemsOf = ({ errors }: OpenaiBatch): string =>
  (errors?.data ?? [])
    .map(({ code, message, line }) => `${code}${line == null ? '' : ` (line ${line})`}: ${message}`)
    .join('; ') || 'no reason was given';
