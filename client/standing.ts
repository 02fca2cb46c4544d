import type { Unanswered } from '../postgres/unanswered';
import type { Standing } from '../workflows/contracts/handler';
import { leaderWorkflowId, queuerWorkflowId } from '../workflows/naming';

/** Whose wake goes unanswered, and which run that is. */
export const standingOf = (prefix: string, { kind, id, handler, name, ms, runId }: Unanswered): Standing => ({
  kind,
  name: name ?? String(id),
  ms: Math.round(ms),
  workflowId: kind === 'leader' ? leaderWorkflowId(prefix, handler!, name!, id) : queuerWorkflowId(prefix, id),
  runId,
});
