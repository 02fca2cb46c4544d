import type { Findings } from '../configError';
import { RejectedError } from '../errors';
import type { Batch } from '../contract';
import { IDEMPOTENCY_KEY_LENGTH } from '../contract';
import type { Reference, Scope, Template } from './template';
import { compileTemplate, MissingValue } from './template';

/** How the tasks of a batch are encoded as a body. */
export interface BodyPlan {
  /**
   * Returns the body. Throws `RejectedError` for a payload that lacks what a template needs:
   * nothing was sent, and bisecting finds the task.
   */
  encode(batch: Batch, idempotencyKey: string, callbackUrl?: string): string;
  /** Returns the bytes of one encoded item, including its separator. */
  bytesOf(payload: unknown, id: string, target: string): number;
  /** Bytes of everything around the items, minus the separator that the last item does not need. */
  readonly overheadBytes: number;
  /** The references in the templates of an item. */
  readonly references: readonly Reference[];
  /** The body names the batches on which a batch depends. */
  readonly handsDependencies: boolean;
  /** The body cannot be encoded without a callback URL. */
  readonly needsCallback: boolean;
}

export interface BodySettings {
  readonly item: unknown;
  readonly envelope: unknown;
  readonly encode: unknown;
}

const ITEM_ROOTS = ['id', 'payload', 'target', 'index'];
const ENVELOPE_ROOTS = ['items', 'target', 'batchId', 'idempotencyKey', 'callbackUrl', 'count', 'dependsOn'];
/**
 * Stand-ins for values that are unknown before the batch is formed, to count their bytes. Longer
 * values are detected before the call, which is then not made.
 */
const FILLERS = {
  batchId: 'x'.repeat(32),
  idempotencyKey: 'x'.repeat(IDEMPOTENCY_KEY_LENGTH),
  callbackUrl: 'x'.repeat(256),
  target: 'x'.repeat(64),
  count: 100_000,
  dependsOn: ['x'.repeat(64)],
};

const LONGEST_INDEX = 99_999;

const json = (value: unknown): string => JSON.stringify(value) ?? 'null';

export function compileBody(settings: BodySettings, findings: Findings): BodyPlan {
  const isLines = settings.encode === 'ndjson';
  const lines = compileItems(settings.item, isLines, findings);
  const envelope = compileEnvelope(settings.envelope, isLines, findings);
  return {
    references: lines.flatMap((line) => line.references),
    handsDependencies: envelope?.references.some(({ root }) => root === 'dependsOn') ?? false,
    needsCallback: envelope?.references.some(({ root, optional }) => root === 'callbackUrl' && !optional) ?? false,
    overheadBytes: isLines
      ? 0
      : envelope === undefined
        ? 1
        : Buffer.byteLength(json(envelope.render({ ...FILLERS, items: [] }))) - 1,
    bytesOf: (payload, id, target) =>
      lines.reduce((sum, line) => sum + sizeOf(line, { id, index: LONGEST_INDEX, payload, target }) + 1, 0),
    encode: (batch, idempotencyKey, callbackUrl) => {
      if (isLines)
        return scopesOf(batch)
          .flatMap((scope) => lines.map((line) => `${json(rendered(line, scope))}\n`))
          .join('');
      const items = scopesOf(batch).map((scope) => rendered(lines[0]!, scope) ?? null);
      if (envelope === undefined) return json(items);
      return json(
        envelope.render({
          items,
          target: batch.target,
          batchId: batch.id,
          idempotencyKey,
          callbackUrl,
          count: items.length,
          dependsOn: referencesOf(batch),
        }),
      );
    },
  };
}

/** Names what the batch depends on as the downstream does; what it answered at once has no name. */
const referencesOf = ({ dependsOn = [] }: Batch): string[] =>
  dependsOn.flatMap(({ reference }) => (reference === null ? [] : [reference]));

const scopesOf = (batch: Batch): Scope[] =>
  batch.tasks.map(({ id, payload }, index) => ({ id, payload, target: batch.target, index }));

function rendered(line: Template, scope: Scope): unknown {
  try {
    return line.render(scope);
  } catch (error) {
    if (!(error instanceof MissingValue)) throw error;
    throw new RejectedError(`task ${json(scope.id)} cannot be encoded: ${error.message}`);
  }
}

function sizeOf(line: Template, scope: Scope): number {
  try {
    return Buffer.byteLength(json(line.render(scope)));
  } catch (error) {
    if (!(error instanceof MissingValue)) throw error;
    // The handler's schema refuses such a task; until then it counts with the size of its payload.
    return Buffer.byteLength(json(scope.payload));
  }
}

function compileItems(raw: unknown, isLines: boolean, findings: Findings): Template[] {
  const item = raw ?? '{{payload}}';
  if (!isLines || !Array.isArray(item)) return [compileTemplate(item, ITEM_ROOTS, 'request.item', findings)];
  if (item.length === 0) findings.add('request.item', 'expected at least one line, got an empty array');
  return item.map((line, place) => compileTemplate(line, ITEM_ROOTS, `request.item.${place}`, findings));
}

function compileEnvelope(raw: unknown, isLines: boolean, findings: Findings): Template | undefined {
  if (raw === undefined) return undefined;
  const envelope = compileTemplate(raw, ENVELOPE_ROOTS, 'request.envelope', findings);
  if (isLines)
    findings.add('request.envelope', "expected none with encode 'ndjson', got one: the lines are the whole body");
  else if (!/"\{\{\s*items\s*\}\}"/.test(json(raw))) {
    findings.add('request.envelope', 'expected "{{items}}" as a whole value in it, got none: no task would be sent');
  }
  return envelope;
}
