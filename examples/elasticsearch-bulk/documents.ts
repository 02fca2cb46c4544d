import { randomUUID } from 'node:crypto';
import type { BulkAction } from './bulkBody';

export interface ItemAnswer {
  _index: string;
  _id: string;
  status: number;
  _version?: number;
  result?: 'created' | 'updated' | 'deleted' | 'not_found';
  error?: { type: string; reason: string };
}

interface StoredDocument {
  source: Record<string, unknown>;
  version: number;
}

/**
 * The documents of every index, in memory. The first value of a field decides its type for the
 * whole index, as dynamic mapping does.
 */
export class Documents {
  private readonly indexes = new Map<string, Map<string, StoredDocument>>();
  private readonly mappings = new Map<string, Map<string, string>>();

  apply(action: BulkAction): ItemAnswer {
    const documents = this.indexes.get(action.index) ?? new Map<string, StoredDocument>();
    this.indexes.set(action.index, documents);
    const head = { _index: action.index, _id: action.id ?? randomUUID() };
    const before = documents.get(head._id);
    if (action.kind === 'delete') {
      const isThere = documents.delete(head._id);
      return { ...head, status: isThere ? 200 : 404, result: isThere ? 'deleted' : 'not_found' };
    }
    if (action.kind === 'create' && before !== undefined) {
      const reason = `[${head._id}]: version conflict, document already exists`;
      return { ...head, status: 409, error: { type: 'version_conflict_engine_exception', reason } };
    }
    const source = this.read(action.index, action.source ?? '');
    if (typeof source === 'string') {
      return { ...head, status: 400, error: { type: 'document_parsing_exception', reason: source } };
    }
    const version = (before?.version ?? 0) + 1;
    documents.set(head._id, { source, version });
    return {
      ...head,
      _version: version,
      ...(before ? { result: 'updated', status: 200 } : { result: 'created', status: 201 }),
    };
  }

  get(index: string, id: string): StoredDocument | undefined {
    return this.indexes.get(index)?.get(id);
  }

  /** Of one index, or of all. */
  count(index?: string): number {
    const counted = index === undefined ? [...this.indexes.values()] : [this.indexes.get(index)];
    return counted.reduce((sum, documents) => sum + (documents?.size ?? 0), 0);
  }

  /** The document, or why it does not fit the index. */
  private read(index: string, text: string): Record<string, unknown> | string {
    let source: unknown;
    try {
      source = JSON.parse(text);
    } catch (error) {
      return `failed to parse: ${String(error)}`;
    }
    if (typeof source !== 'object' || source === null || Array.isArray(source)) {
      return `failed to parse: expected an object, got ${Array.isArray(source) ? 'an array' : typeof source}`;
    }
    const known = this.mappings.get(index) ?? new Map<string, string>();
    const entries = Object.entries(source as Record<string, unknown>).filter(([, value]) => value !== null);
    const misfit = entries.find(([field, value]) => !fits(known.get(field), value));
    if (misfit !== undefined) {
      const [field, value] = misfit;
      return `failed to parse field [${field}] of type [${known.get(field)}]: got ${JSON.stringify(value).slice(0, 100)}`;
    }
    entries.forEach(([field, value]) => known.set(field, known.get(field) ?? typeof value));
    this.mappings.set(index, known);
    return source as Record<string, unknown>;
  }
}

/** As Elasticsearch coerces: text takes any plain value, a number takes text that reads as one. */
function fits(type: string | undefined, value: unknown): boolean {
  if (type === undefined || typeof value === type) {
    return true;
  }
  if (type === 'string') {
    return typeof value !== 'object';
  }
  return type === 'number' && typeof value === 'string' && value.trim() !== '' && Number.isFinite(Number(value));
}
