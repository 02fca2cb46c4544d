import { lines } from '../support/lines';
import type { BatchObject, RequestLine } from './batchTypes';

export interface InputLimits {
  maxRequests: number;
  maxBytes: number;
}

type Problem = NonNullable<BatchObject['errors']>['data'][number];
const MAX_PROBLEMS = 20;

/**
 * Reads an input file once: how many requests it has, and what is wrong with it (the first 20
 * problems).
 */
export async function checkInput(
  chunks: AsyncIterable<Buffer>,
  bytes: number,
  endpoint: string,
  limits: InputLimits,
): Promise<{ total: number; problems: Problem[] }> {
  const problems: Problem[] = [];
  const ids = new Set<string>();
  let total = 0;
  if (bytes > limits.maxBytes) {
    const message = `expected at most ${limits.maxBytes} bytes, got ${bytes}`;
    return { total, problems: [{ code: 'file_too_large', message, line: null }] };
  }
  for await (const text of lines(chunks)) {
    total += 1;
    if (total > limits.maxRequests) {
      const message = `expected at most ${limits.maxRequests} requests`;
      return { total, problems: [{ code: 'too_many_requests', message, line: total }] };
    }
    const problem = lineProblem(text, endpoint, ids);
    if (problem !== undefined && problems.length < MAX_PROBLEMS) {
      problems.push({ ...problem, line: total });
    }
  }
  if (total === 0) {
    problems.push({ code: 'empty_file', message: 'expected at least one request, got none', line: null });
  }
  return { total, problems };
}

function lineProblem(text: string, endpoint: string, ids: Set<string>): Omit<Problem, 'line'> | undefined {
  let line: Partial<RequestLine>;
  try {
    line = JSON.parse(text) as Partial<RequestLine>;
  } catch {
    return { code: 'invalid_json_line', message: 'expected a JSON object' };
  }
  if (typeof line?.custom_id !== 'string' || line.custom_id === '') {
    return { code: 'missing_custom_id', message: 'custom_id: expected a string' };
  }
  if (ids.has(line.custom_id)) {
    return { code: 'duplicate_custom_id', message: `custom_id: "${line.custom_id}" came before` };
  }
  ids.add(line.custom_id);
  if (line.method !== 'POST' || line.url !== endpoint) {
    return { code: 'mismatched_url', message: `expected POST ${endpoint}, got ${line.method} ${line.url}` };
  }
  return undefined;
}
