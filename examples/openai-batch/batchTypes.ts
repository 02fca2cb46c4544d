/**
 * The shapes of the API, as far as the example uses them. Times are Unix seconds, as the API has
 * them.
 */

export type BatchStatus =
  'validating' | 'in_progress' | 'finalizing' | 'completed' | 'failed' | 'expired' | 'cancelling' | 'cancelled';

export interface BatchObject {
  id: string;
  object: 'batch';
  endpoint: string;
  input_file_id: string;
  completion_window: string;
  status: BatchStatus;
  output_file_id: string | null;
  error_file_id: string | null;
  created_at: number;
  /** When it reached a status that is final. */
  ended_at: number | null;
  request_counts: { total: number; completed: number; failed: number };
  errors: { object: 'list'; data: { code: string; message: string; line: number | null }[] } | null;
  metadata: Record<string, string>;
}

export interface BatchList {
  object: 'list';
  /** Newest first. */
  data: BatchObject[];
  has_more: boolean;
}

/** A line of the input file. */
export interface RequestLine {
  custom_id: string;
  method: string;
  url: string;
  body: unknown;
}

/**
 * A line of the output file (a status below 300) or of the error file (any other, or no response at
 * all).
 */
export interface ResponseLine {
  id: string;
  custom_id: string;
  response: { status_code: number; request_id: string; body: unknown } | null;
  error: { code: string; message: string } | null;
}
