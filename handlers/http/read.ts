import { cutText, show } from '../text';
import type { ItemResult, Results } from '../contract';
import { mostValues, parseJson, quote, readBody, readEvidence, readLines } from './body';
import { withoutSecrets } from './headers';
import { readPath } from './path';
import type { ResponsePlan } from './response';
import { itemResult } from './response';
import type { IncomingAnswer } from './transport';

/**
 * What is needed to read an answer. The functions that read throw a plain Error with evidence,
 * which is an unknown outcome.
 */
export interface Reader {
  readonly response: ResponsePlan;
  readonly maxResponseBytes: number;
  /** Secrets that are removed from all evidence. */
  readonly secrets: readonly string[];
}

export const isSuccess = ({ statusCode }: IncomingAnswer): boolean => statusCode >= 200 && statusCode <= 299;

export const unreadable = (
  answer: IncomingAnswer,
  message: string,
  secrets: readonly string[],
  cause?: unknown,
): Error =>
  new Error(cutText(withoutSecrets(`HTTP ${answer.statusCode}${encodingOf(answer)}: ${message}`, secrets)), { cause });

const encodingOf = ({ headers }: IncomingAnswer): string => {
  const encoding = headers['content-encoding'];
  return encoding === undefined || encoding === 'identity'
    ? ''
    : ` (content-encoding ${show(encoding)}, which was not asked for)`;
};

/**
 * Returns why an answer is not a success, such as `HTTP 401: "…"`, with the destination of a
 * redirect.
 */
export async function errorOf(answer: IncomingAnswer, secrets: readonly string[]): Promise<string> {
  return errorText(answer, await readEvidence(answer.body), secrets);
}

/** The same, for an answer whose body was read. */
export function errorText(
  { statusCode, headers }: IncomingAnswer,
  evidence: Buffer,
  secrets: readonly string[],
): string {
  const isRedirect = statusCode >= 300 && statusCode <= 399;
  const remedy = isRedirect
    ? ` to ${show(headers.location)}: redirects are not followed, put the final URL into the configuration`
    : '';
  return cutText(withoutSecrets(`HTTP ${statusCode}${remedy}: ${quote(evidence)}`, secrets));
}

/**
 * Reads the whole body. Throws if it breaks off: such an answer is no success, whatever its status.
 */
async function readWhole(
  { maxResponseBytes, secrets }: Omit<Reader, 'response'>,
  answer: IncomingAnswer,
): Promise<Buffer> {
  const { bytes, problem } = await readBody(answer.body, maxResponseBytes);
  if (problem !== undefined) throw unreadable(answer, `${problem}: ${quote(bytes)}`, secrets);
  return bytes;
}

/** Reads the whole body as JSON. */
export async function readJson(reader: Omit<Reader, 'response'>, answer: IncomingAnswer): Promise<unknown> {
  const parsed = parseJson(await readWhole(reader, answer), mostValues(reader.maxResponseBytes));
  if ('problem' in parsed) throw unreadable(answer, parsed.problem, reader.secrets);
  return parsed.value;
}

/**
 * Returns the results of a 2xx answer. `members`: how many there must be if they are matched by
 * position; undefined: not known.
 */
export async function readItems(reader: Reader, answer: IncomingAnswer, members: number | undefined): Promise<Results> {
  if (!reader.response.perItem) {
    await readWhole(reader, answer);
    return allOk(members ?? 0);
  }
  if (reader.response.decode === 'ndjson') return streamed(reader, answer, members);
  return itemsIn(reader, answer, await readJson(reader, answer), members);
}

/** Returns the results in an answer that is parsed already. */
export function itemsIn(reader: Reader, answer: IncomingAnswer, value: unknown, members: number | undefined): Results {
  const { response, secrets } = reader;
  if (!response.perItem) return allOk(members ?? 0);
  const elements = readPath(value, response.results);
  const place = response.results.length === 0 ? 'as the body' : `at ${response.results.join('.')}`;
  if (!Array.isArray(elements))
    throw unreadable(answer, `expected an array of results ${place}, got ${show(value, 500)}`, secrets);
  if (response.matchBy === 'position' && members !== undefined) checkCount(elements.length, members);
  return mapped(response, elements);
}

const allOk = (members: number): ItemResult[] =>
  Array.from({ length: members }, (_, index) => ({ index, status: 'ok' }));

/**
 * Checks the number of results that are matched by position. One too few or too many makes all of
 * them doubtful, since nothing says which one is missing.
 */
function checkCount(got: number, members: number): void {
  if (got !== members) throw new Error(`expected ${members} results, one per position, got ${got}`);
}

function* mapped(response: ResponsePlan, elements: readonly unknown[]): Generator<ItemResult> {
  let place = 0;
  for (const element of elements) yield itemResult(response, element, place++);
}

async function* streamed(
  reader: Reader,
  answer: IncomingAnswer,
  members: number | undefined,
): AsyncGenerator<ItemResult> {
  const { response, maxResponseBytes, secrets } = reader;
  let place = 0;
  try {
    for await (const element of readLines(answer.body, maxResponseBytes)) yield itemResult(response, element, place++);
  } catch (error) {
    throw unreadable(
      answer,
      `after ${place} results: ${error instanceof Error ? error.message : show(error)}`,
      secrets,
      error,
    );
  }
  if (response.matchBy === 'position' && members !== undefined) checkCount(place, members);
}
