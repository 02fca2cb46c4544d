import type { Scope } from '../../../postgres/api/token';
import type { Route } from '../../../workers/api/route';
import { PROBLEM_JSON } from '../../../workers/problemType';
import { problemDetails } from '../../../workflows/contracts/problem';
import type { Kind } from './kinds';

/** An operation as the document has it. */
export interface Operation {
  id: string;
  /** Null: no token is needed. */
  scope: Scope | null;
  statuses: ReadonlySet<number>;
}
/** One answer that a caller of this kind got. */
export interface Answer {
  kind: Kind;
  operation: Operation;
  status: number;
  type: string;
  text: string;
  /** Method, path and body. */
  asked: string;
}
interface Written {
  operationId: string;
  'x-scope'?: Scope;
  responses: Record<string, unknown>;
}
export interface Document {
  paths: Record<string, Record<string, Written>>;
}
interface Place {
  method: string;
  path: RegExp;
  operation: Operation;
}

/** Finds the operation that a request is for. */
export class Operations {
  private readonly places: readonly Place[];

  constructor({ paths }: Document) {
    this.places = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId, responses, 'x-scope': scope = null }]) => ({
        method: method.toUpperCase(),
        path: new RegExp(`^${path.replace(/[.]/g, '\\.').replace(/\{\w+\}/g, '[^/?]+')}(\\?|$)`),
        operation: { id: operationId, scope, statuses: new Set(Object.keys(responses).map(Number)) },
      })),
    );
  }

  get ids(): string[] {
    return this.places.map(({ operation }) => operation.id);
  }

  /** Null: the document has no such method and path. */
  find(method: string, url: string): Operation | null {
    const found = this.places.find((place) => place.method === method && place.path.test(url));
    return found?.operation ?? null;
  }
}

const HEADER_OVERFLOW = 431;
/** Of requests that the caller may make. */
const REFUSALS = [401, 403];

/**
 * Says what is wrong with an answer to a caller of this kind; null: nothing. The generator compares
 * with the document's schemas, too, but gets only one of the answers.
 */
export const faultOf = (route: Route, { kind, operation, status, type, text, asked }: Answer): string | null => {
  if (status >= 500) return `status ${status}`;
  if (!operation.statuses.has(status)) return `status ${status}, which the document does not name`;
  if (status === HEADER_OVERFLOW) return null; // by the server, whoever asks
  // What a body asks for may need another scope, which has tests by itself.
  const mayLack = route.alsoNeeds !== undefined && asked.includes('"payloadPatch"');
  if (status === 403 && mayLack && kind.scopes.length > 0 && !kind.scopes.includes('submit')) return null;
  return accessFault(kind, operation, status) ?? bodyFault(route, status, type, text);
};

const accessFault = ({ scopes }: Kind, { scope }: Operation, status: number): string | null => {
  if (scope === null) return REFUSALS.includes(status) ? `status ${status} where no token is needed` : null;
  if (scopes.length === 0) return status === 401 ? null : `status ${status} in place of 401`;
  if (scopes.includes(scope)) return REFUSALS.includes(status) ? `status ${status} with scope ${scope}` : null;
  return status === 403 ? null : `status ${status} without scope ${scope} in place of 403`;
};

const bodyFault = ({ answer, stream }: Route, status: number, type: string, text: string): string | null => {
  const isProblem = status >= 400;
  const expected = isProblem ? PROBLEM_JSON : (stream?.split(';')[0] ?? 'application/json');
  if (!type.startsWith(expected)) return `status ${status} as ${type} in place of ${expected}`;
  if (!isProblem && stream !== undefined) return null;
  const { error } = (isProblem ? problemDetails : answer.schema).safeParse(JSON.parse(text));
  return error === undefined ? null : `status ${status} with a body that is not as documented: ${error.message}`;
};
