import type { ItemResult, ReferenceStatus } from '../../handlers';
import type { BatchObject, ResponseLine } from './batchTypes';

/** Not executed, or by a service that was not well: worth another batch. */
const PASSING = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** What a line of an output or error file says about its task. */
export function itemResult(line: ResponseLine): ItemResult {
  const { custom_id: id, response, error } = line;
  if (response === null) {
    // batch_expired, batch_cancelled: the batch did not come to it.
    return { id, status: 'retry', error: `${error?.code ?? 'no response'}: ${error?.message ?? ''}` };
  }
  if (response.status_code >= 200 && response.status_code < 300) {
    return { id, status: 'ok', result: response.body };
  }
  return {
    id,
    status: PASSING.has(response.status_code) ? 'retry' : 'failed',
    error: `${response.status_code}: ${JSON.stringify(response.body).slice(0, 1_000)}`,
  };
}

/** A cancelled batch is to Muster what an expired one is: it keeps the part that is done. */
export function referenceStatus(reference: string, batch: BatchObject | undefined): ReferenceStatus {
  switch (batch?.status) {
    case undefined:
      return { reference, status: 'lost', error: 'the API knows no such batch' };
    case 'completed':
      return { reference, status: 'done' };
    case 'expired':
    case 'cancelled':
      return { reference, status: 'expired', error: batch.status };
    case 'failed':
      return { reference, status: 'failed', error: failure(batch) };
    case 'validating':
    case 'in_progress':
    case 'finalizing':
    case 'cancelling':
      return { reference, status: 'pending' };
  }
}

function failure(batch: BatchObject): string {
  const problems = batch.errors?.data ?? [];
  return problems
    .map(({ code, message, line }) => `${code}${line === null ? '' : ` (line ${line})`}: ${message}`)
    .join('; ');
}
