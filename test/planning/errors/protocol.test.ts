import { saysNoRun } from '../../../workflows/planning/protocol';

/** What the server's errors say of a run. */

test.each([
  [5, 'workflow not found for ID: muster/leader/orders/0', true],
  [5, 'Workflow executionsRow not found.  WorkflowId: muster/notifier', true],
  [5, 'Namespace orders is not found.', false],
  [14, 'workflow not found for ID: muster/notifier', false],
])('%d %s: no such run is %s', (code, details, isSaid) => {
  expect(saysNoRun({ code, details })).toBe(isSaid);
});
