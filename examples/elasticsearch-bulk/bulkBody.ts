import { HttpProblem } from '../support/server';

export interface BulkAction {
  kind: 'index' | 'create' | 'delete';
  index: string;
  /** Undefined: the server makes one up. */
  id: string | undefined;
  /**
   * The document's line, not parsed yet: what is wrong with it concerns this one item. Undefined
   * for a delete.
   */
  source: string | undefined;
}

const KINDS = ['index', 'create', 'delete'] as const;

/**
 * Reads a `_bulk` body: action lines, each but delete followed by its document's line.
 * @throws HttpProblem 400 where the body as a whole cannot be read; then nothing of it is applied.
 */
export function readBulkBody(text: string, defaultIndex: string | undefined): BulkAction[] {
  if (!text.endsWith('\n')) {
    throw badRequest('The bulk request must be terminated by a newline [\\n]');
  }
  const rows = text.split('\n').slice(0, -1);
  const actions: BulkAction[] = [];
  for (let row = 0; row < rows.length; row += 1) {
    const action = readAction(rows[row] ?? '', row + 1, defaultIndex);
    if (action.kind !== 'delete') {
      row += 1;
      action.source = rows[row];
      if (action.source === undefined) {
        throw badRequest(`line [${row}]: expected the document after its action, got the end of the body`);
      }
    }
    actions.push(action);
  }
  if (actions.length === 0) {
    throw badRequest('Validation Failed: 1: no requests added;');
  }
  return actions;
}

function readAction(row: string, number: number, defaultIndex: string | undefined): BulkAction {
  let action: unknown;
  try {
    action = JSON.parse(row);
  } catch {
    throw badRequest(`Malformed action/metadata line [${number}], expected a JSON object`);
  }
  const [entry, ...others] = Object.entries((action ?? {}) as Record<string, unknown>);
  const kind = KINDS.find((name) => name === entry?.[0]);
  const meta = entry?.[1] as { _index?: unknown; _id?: unknown } | null | undefined;
  if (kind === undefined || others.length > 0 || typeof meta !== 'object' || meta === null) {
    throw badRequest(`Malformed action/metadata line [${number}], expected one of ${KINDS.join(', ')}`);
  }
  const index = meta._index ?? defaultIndex;
  if (typeof index !== 'string' || index === '') {
    throw badRequest(`line [${number}]: Validation Failed: 1: index is missing;`);
  }
  return { kind, index, id: meta._id === undefined ? undefined : String(meta._id), source: undefined };
}

function badRequest(reason: string): HttpProblem {
  const error = { type: 'illegal_argument_exception', reason };
  return new HttpProblem(400, reason, {}, { error: { root_cause: [error], ...error }, status: 400 });
}
