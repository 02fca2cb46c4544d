import type { ComponentType } from 'preact';
import type { Place } from './model/place';
import { Audit } from './pages/audit';
import { Batch } from './pages/batch';
import { Batches } from './pages/batches';
import { BulkAction, BulkActions } from './pages/bulk';
import { Callbacks } from './pages/callbacks';
import { ErrorList } from './pages/errors';
import { Execution, Executions } from './pages/executions';
import { Fanout, Fanouts } from './pages/fanouts';
import { Handler } from './pages/handler';
import { Lane, Lanes } from './pages/lanes';
import { Nodes } from './pages/nodes';
import { Target } from './pages/target';
import { Task } from './pages/task';
import { Tasks } from './pages/tasks';

type Page = ComponentType<{ place: Place }>;

/** Pages by the form of their path; `*` is any part. */
const PAGES: Readonly<Record<string, Page>> = {
  'handlers/*': Handler,
  'handlers/*/tasks': Tasks,
  'handlers/*/batches': Batches,
  'handlers/*/targets/*': Target,
  'tasks/*': Task,
  'batches/*': Batch,
  lanes: Lanes,
  'lanes/*': Lane,
  fanouts: Fanouts,
  'fanouts/*': Fanout,
  executions: Executions,
  'executions/*': Execution,
  nodes: Nodes,
  errors: ErrorList,
  callbacks: Callbacks,
  bulk: BulkActions,
  'bulk/*': BulkAction,
  audit: Audit,
};

/** Returns the page of a path; null: there is none. */
export const routeTo = (path: readonly string[]): Page | null => {
  const form = Object.keys(PAGES).find((one) => {
    const parts = one.split('/');
    return parts.length === path.length && parts.every((part, i) => part === '*' || part === path[i]);
  });
  return form === undefined ? null : PAGES[form]!;
};
