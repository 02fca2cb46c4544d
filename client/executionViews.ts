import type { CloseReason } from '../postgres/chunk';
import type { ExecutionConfig } from './checkExecution';
import type { ExecutionState, ItemCounts, ItemState } from '../workflows/planning/execution/states';

/** An execution as it is now (E2). */
export interface ExecutionView {
  id: string;
  functionId: string;
  method: string;
  config: ExecutionConfig;
  topic: string | null;
  state: ExecutionState;
  items: number;
  /** Their sum is `items`. */
  counts: ItemCounts;
  /** Runs of an item at most (E10); null: no worker has looked at it yet. */
  attemptsLimit: number | null;
  /** Rounds of chunks so far. */
  round: number;
  /** What it waits for, and which nodes did not take or lost what they were given in the last round. */
  message: string | null;
  createdAt: string;
  startedAt: string | null;
  finishedAt: string | null;
}

export interface ExecutionProgress {
  state: ExecutionState;
  items: number;
  counts: ItemCounts;
  /** Items that are done or permanently failed, of all: 0 to 1. */
  share: number;
}

export interface ChunkView {
  id: string;
  node: string;
  round: number;
  state: 'filling' | 'ready' | 'taken' | 'done' | 'closed';
  items: number;
  /** Not processed yet. */
  open: number;
  reason: CloseReason | null;
}

export interface WorkItemView {
  position: number;
  state: ItemState;
  attempts: number;
  /** Md5 in hex (E12), and which of the items with this content it is. */
  contentId: string;
  copy: number;
  chunk: string | null;
  arguments: string[];
  exitCode: number | null;
  stdout: string | null;
  stderr: string | null;
}

/** One run, as the result document has it (E13). `exit_code` is null where it came to no exit. */
export interface ResultEntry {
  result: { stdout: string; stderr: string; exit_code: number | null };
  function_invocation: string;
  arguments: string[];
}
/** The result document (E13). */
export interface ResultDocument {
  chunks: Record<string, { peer: string; results: Record<string, ResultEntry> }>;
  code: string;
  request_id: string;
  message?: string;
}
