import type { Client } from '@temporalio/client';
import type { LoadedDataConverter, Payload } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow';
import type { temporal as protos } from '@temporalio/proto';
import { completeSignal } from '../../workflows/definitions';
import { cutText } from '../../handlers/text';
import type { CompletionSignal } from '../../workflows/definitions';
import type { UnreadRun } from '../../workflows/planning/unread';
import { unreadOf } from '../../workflows/planning/unread';
import { unreadable } from '../../workflows/planning/unreadable';

/**
 * Reads the signals to a monitor from the histories of its runs: the server keeps them there,
 * whatever became of the run.
 */

type HistoryEvent = protos.api.history.v1.IHistoryEvent;

/**
 * Events requested at once; each may be a completion of 1 MB, and a server returns more where it
 * has written them together. If a connection takes no answer of that size, fewer are requested.
 */
const PAGES = [50, 10, 2, 1];
const INVALID_ARGUMENT = 3;
const RESOURCE_EXHAUSTED = 8;
const OUT_OF_RANGE = 11;
const NOT_FOUND = 5;

/** A completion, and the event that it came with. */
export interface Signalled {
  eventId: number;
  told: CompletionSignal;
}

export interface SignalPage {
  /** Signals beyond those that were taken before. */
  signals: Signalled[];
  /** Number of signals of the run before this page, and where the page begins. */
  at: { token: string; after: number } | undefined;
  /** Number of signals of the run up to the end of this page. */
  seen: number;
  /** Where the next page begins; null: this was the last one, for now. */
  next: { token: string; after: number } | null;
}

/**
 * Yields the completions of a run after the first `taken`, page by page. For a run that goes on:
 * until `wanted` in all were seen, which are known to exist. A run whose history was deleted after
 * its retention period has none.
 */
export async function* readSignals(
  temporal: Client,
  workflowId: string,
  { runId, taken, at: from }: UnreadRun,
  wanted: number | null,
): AsyncGenerator<SignalPage> {
  let at = from;
  let skip = taken;
  while (wanted === null || skip < wanted) {
    const page = await readPage(temporal, workflowId, runId, at?.token).catch((error: unknown) => {
      // A page token is internal to the server, and may come from another version of it.
      if (at !== undefined && codeOf(error) === INVALID_ARGUMENT) return null;
      throw error;
    });
    if (page === null) {
      at = undefined;
      continue;
    }
    const before = at?.after ?? 0;
    const found = page.events.filter(isCompletion);
    const signals: Signalled[] = [];
    for (const event of found.slice(Math.max(0, skip - before)))
      signals.push({ eventId: Number(event.eventId), told: await readReported(temporal, event) });
    const seen = before + found.length;
    skip = Math.max(skip, seen);
    const next = page.token === '' ? null : { token: page.token, after: seen };
    yield { signals, at, seen, next };
    // A page token knows the end that the history had when it was first read: later events are
    // found only from the beginning.
    if (next === null && (wanted === null || at === undefined)) return;
    at = next ?? undefined;
  }
}

/**
 * Returns what an ended run left unread: the completions it was given or received, minus those that
 * its history shows as processed. A completion returned again counts only once.
 */
export const leftUnread = async (temporal: Client, workflowId: string, runId: string): Promise<UnreadRun[]> => {
  const converter = temporal.options.loadedDataConverter;
  const asked = new Set<string>();
  let unread: UnreadRun[] = [];
  let token: string | undefined;
  do {
    const page: { events: HistoryEvent[]; token: string } = await readPage(temporal, workflowId, runId, token);
    for (const event of page.events) {
      const { workflowExecutionStartedEventAttributes: started, activityTaskScheduledEventAttributes: scheduled } =
        event;
      const completed = event.activityTaskCompletedEventAttributes;
      if (started != null) unread = unreadOf(await readFirst(converter, started.input?.payloads));
      if (scheduled?.activityType?.name === 'takeSignalled') asked.add(String(event.eventId));
      if (completed != null && asked.has(String(completed.scheduledEventId)))
        unread = unreadOf(await readFirst(converter, completed.result?.payloads));
    }
    token = page.token;
  } while (token !== '');
  return unread.some((run) => run.runId === runId) ? unread : [...unread, { runId, taken: 0 }];
};

const isCompletion = (event: HistoryEvent): boolean =>
  event.workflowExecutionSignaledEventAttributes?.signalName === completeSignal.name;

const readReported = async (temporal: Client, event: HistoryEvent): Promise<CompletionSignal> => {
  const payloads = event.workflowExecutionSignaledEventAttributes!.input?.payloads;
  return (await readFirst(temporal.options.loadedDataConverter, payloads)) as CompletionSignal;
};

/** Decodes the first value; an unreadable one becomes a marker, as it does in a workflow. */
const readFirst = async (converter: LoadedDataConverter, payloads: Payload[] | null | undefined): Promise<unknown> => {
  const [first] = payloads ?? [];
  if (first === undefined) return undefined;
  try {
    return (await decodeArrayFromPayloads(converter, [first]))[0];
  } catch (error) {
    const encoding = Buffer.from(first.metadata?.['encoding'] ?? []).toString('latin1');
    return unreadable(error instanceof Error ? error.message : String(error), cutText(encoding, 100));
  }
};

const readPage = async (
  temporal: Client,
  workflowId: string,
  runId: string,
  token: string | undefined,
  [maximumPageSize, ...fewer]: readonly number[] = PAGES,
): Promise<{ events: HistoryEvent[]; token: string }> => {
  try {
    const { history, nextPageToken } = await temporal.workflowService.getWorkflowExecutionHistory({
      namespace: temporal.options.namespace,
      execution: { workflowId, runId },
      maximumPageSize,
      nextPageToken: token === undefined ? undefined : Buffer.from(token, 'base64'),
    });
    return { events: history?.events ?? [], token: Buffer.from(nextPageToken ?? []).toString('base64') };
  } catch (error) {
    if (codeOf(error) === NOT_FOUND) return { events: [], token: '' };
    if (fewer.length > 0 && [RESOURCE_EXHAUSTED, OUT_OF_RANGE].includes(codeOf(error) ?? 0))
      return readPage(temporal, workflowId, runId, token, fewer);
    throw error;
  }
};

const codeOf = (error: unknown): number | undefined => (error as { code?: number } | null)?.code;
