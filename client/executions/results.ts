import { listChunks } from '../../postgres/executions/chunk';
import type { ExecutionRow } from '../../postgres/executions/view';
import { readChunkResults } from '../../postgres/executions/workItem';
import type { ItemRow } from '../../postgres/executions/workItem';
import { resultKey } from '../../workflows/planning/executions/contentText';
import { EXECUTION, executionStateName } from '../../workflows/planning/executions/states';
import { InvalidArgumentError } from '../errors';
import type { ClientContext } from '../context';
import { openItems } from './sealedItems';
import type { ResultDocument, ResultDocumentPage, ResultEntry } from './views';

/**
 * Builds the result document of an execution: chunk by chunk in the order of the rounds, and within
 * a chunk by position.
 */

/** Some results of one chunk. */
export interface ResultPage {
  chunk: string;
  peer: string;
  results: Record<string, ResultEntry>;
}

type Reader = Pick<ClientContext, 'pool' | 'sealer'>;

/** More chunks than any execution has. */
const ALL_CHUNKS = 1_000_000;
const PAGE = 1_000;

export async function* resultPages(client: Reader, row: ExecutionRow, pageSize: number): AsyncGenerator<ResultPage> {
  const { pool, sealer } = client;
  const chunks = (await listChunks(pool, row.id, ALL_CHUNKS)).toSorted((a, b) => a.round - b.round);
  for (const { id, node } of chunks)
    for (let after = -1; ;) {
      const { rows: items } = await readChunkResults(pool, id, after, { limit: pageSize });
      if (items.length > 0) yield { chunk: id, peer: node, results: entriesOf(row, await openItems(sealer, items)) };
      if (items.length < pageSize) break;
      after = items.at(-1)!.position;
    }
}

const usageOf = (usage: ItemRow['usage']): ResultEntry['result']['usage'] =>
  usage === null
    ? null
    : {
        wall_ms: usage.wallMs,
        cpu_ms: usage.cpuMs,
        memory_bytes: usage.memoryBytes,
        stdout_bytes: usage.stdoutBytes,
        stderr_bytes: usage.stderrBytes,
      };

const entriesOf = ({ functionId, method }: ExecutionRow, items: readonly ItemRow[]): Record<string, ResultEntry> =>
  Object.fromEntries(
    items.map((item) => [
      resultKey(item.contentId, item.copy),
      {
        result: {
          stdout: item.stdout ?? '',
          stderr: item.stderr ?? '',
          exit_code: item.exitCode,
          usage: usageOf(item.usage),
          metadata: item.metadata ?? {},
        },
        function_invocation: `${functionId}/${method}`,
        arguments: item.arguments,
      },
    ]),
  );

/** Returns the result document without its chunks. */
const frameOf = (row: ExecutionRow): Omit<ResultDocument, 'chunks'> => {
  const { done, permanentlyFailed } = row.counts;
  const isWhole = row.state === EXECUTION.done && permanentlyFailed === 0;
  const message = `${executionStateName(row.state)}: ${done} of ${row.items} items done, ${permanentlyFailed} permanently failed`;
  return { code: '200', request_id: row.id, ...(isWhole ? {} : { message }) };
};

export const resultDocument = async (client: Reader, row: ExecutionRow): Promise<ResultDocument> => {
  const chunks: ResultDocument['chunks'] = {};
  for await (const { chunk, peer, results } of resultPages(client, row, PAGE)) {
    chunks[chunk] ??= { peer, results: {} };
    Object.assign(chunks[chunk].results, results);
  }
  return { chunks, ...frameOf(row) };
};

/**
 * Returns at most `limit` results, over all chunks in the order of the rounds, after the place
 * `after`, which is the `next` of the page before (`<chunk>:<position>`).
 */
export const resultPageOf = async (
  { pool, sealer }: Reader,
  row: ExecutionRow,
  { limit, after, maxBytes }: { limit: number; after?: string; maxBytes?: number },
): Promise<ResultDocumentPage> => {
  const all = (await listChunks(pool, row.id, ALL_CHUNKS)).toSorted((a, b) => a.round - b.round);
  const from = placeOf(all, after);
  const chunks: ResultDocument['chunks'] = {};
  let left = limit;
  let leftBytes = maxBytes;
  for (const [i, { id, node }] of all.slice(from.chunk).entries()) {
    const size = { limit: left + 1, maxBytes: leftBytes };
    const { rows: items, isCut } = await readChunkResults(pool, id, i === 0 ? from.position : -1, size);
    const page = items.slice(0, left);
    if (page.length > 0) chunks[id] = { peer: node, results: entriesOf(row, await openItems(sealer, page)) };
    left -= page.length;
    if (leftBytes !== undefined) leftBytes = Math.max(0, leftBytes - bytesOf(page));
    const isFull = left === 0 || leftBytes === 0;
    if (isCut || items.length > page.length || (isFull && from.chunk + i < all.length - 1))
      return { chunks, ...frameOf(row), next: `${id}:${page.at(-1)?.position ?? -1}` };
  }
  return { chunks, ...frameOf(row) };
};

/** As the statement counts them. */
const bytesOf = (items: readonly ItemRow[]): number =>
  items.reduce(
    (sum, { arguments: list, stdout, stderr }) =>
      sum + Buffer.byteLength(JSON.stringify(list)) + Buffer.byteLength(stdout ?? '') + Buffer.byteLength(stderr ?? ''),
    0,
  );

const placeOf = (chunks: readonly { id: string }[], after: string | undefined): { chunk: number; position: number } => {
  if (after === undefined) return { chunk: 0, position: -1 };
  const [, id, position] = /^([0-9a-f-]{36}):(\d{1,9})$/.exec(after) ?? [];
  const chunk = chunks.findIndex((one) => one.id === id);
  if (chunk < 0) throw new InvalidArgumentError('after', '`next` of the previous page', after);
  return { chunk, position: Number(position) };
};

/** Yields the result document as pieces of one JSON text, in bounded memory. */
export async function* resultText(client: Reader, row: ExecutionRow): AsyncGenerator<string> {
  let open: string | null = null;
  yield '{"chunks":{';
  for await (const { chunk, peer, results } of resultPages(client, row, PAGE)) {
    const inner = JSON.stringify(results).slice(1, -1);
    if (chunk === open) yield `,${inner}`;
    else {
      yield `${open === null ? '' : '}},'}${JSON.stringify(chunk)}:{"peer":${JSON.stringify(peer)},"results":{${inner}`;
      open = chunk;
    }
  }
  yield `${open === null ? '' : '}}'}},${JSON.stringify(frameOf(row)).slice(1)}`;
}
