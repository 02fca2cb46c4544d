import { createContext } from 'preact';
import type { SessionView } from '../../../workflows/contracts/dashboard';

/** Who looks, and how that ends. */
export interface Session {
  view: SessionView;
  /** Says that the session is not valid any more. */
  ended(this: void): void;
}

export const SessionContext = createContext<Session>({
  view: {
    name: null,
    scopes: [],
    tenant: null,
    handlers: null,
    version: '',
    namespace: '',
    temporalUi: null,
    traceUrl: null,
  },
  ended: () => undefined,
});

/** Says whether a session may do what a scope allows: what it may not is not offered. */
export const may = ({ view }: Session, scope: string): boolean =>
  view.scopes.includes('admin') || view.scopes.includes(scope);

/** Says whether a session sees what all tenants and handlers share. */
export const seesAll = ({ view }: Session): boolean => view.tenant === null && view.handlers === null;

/** Returns the address of a workflow in Temporal's Web UI; null: where that is, is not known. */
export const workflowUrl = ({ view }: Session, workflowId: string): string | null =>
  view.temporalUi === null
    ? null
    : `${view.temporalUi}/namespaces/${encodeURIComponent(view.namespace)}/workflows/${encodeURIComponent(workflowId)}`;
