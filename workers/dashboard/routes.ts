import type { ComponentType } from 'preact';
import type { Form } from './model/forms';
import { formOf } from './model/forms';
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
import { Overview } from './pages/overview';
import { Target } from './pages/target';
import { Task } from './pages/task';
import { Tasks } from './pages/tasks';

type Page = ComponentType<{ place: Place }>;

const PAGES: Readonly<Record<Form, Page>> = {
  '': Overview,
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
  const form = formOf(path);
  return form === null ? null : PAGES[form];
};
