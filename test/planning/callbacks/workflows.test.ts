import type { WorkflowPolicy } from '../../../workflows/planning/callbacks/workflows';
import { DEFAULT_WORKFLOWS, isOwnWorkflow, workflowRefusal } from '../../../workflows/planning/callbacks/workflows';
import * as naming from '../../../workflows/naming';
import { cpuMs } from '../../helpers/machine/cpuMs';

const fieldOf = (
  policy: Partial<WorkflowPolicy>,
  one: { workflowId: string; signal?: string },
  door?: 'http',
): string | null => workflowRefusal({ ...DEFAULT_WORKFLOWS, ...policy }, one, door)?.field ?? null;

test('without a setting the library may name every workflow but Muster’s own, by Muster’s own signals', () => {
  expect(fieldOf({}, { workflowId: 'order-1' })).toBeNull();
  expect(fieldOf({}, { workflowId: 'order-1', signal: 'musterTasksEnded' })).toBeNull();
  expect(fieldOf({}, { workflowId: 'order-1', signal: 'musterFanoutEnded' })).toBeNull();
  expect(fieldOf({}, { workflowId: 'order-1', signal: 'pay' })).toBe('signal');
  expect(fieldOf({}, { workflowId: 'muster/notifier' })).toBe('workflowId');
});

test('without a setting callers of the HTTP API may name none', () => {
  expect(workflowRefusal(DEFAULT_WORKFLOWS, { workflowId: 'order-1' }, 'http')).toEqual({
    field: 'workflowId',
    expected: 'one that callbacks.workflows.http of the config file names (none)',
    got: 'order-1',
  });
  expect(fieldOf({ http: ['order-*'] }, { workflowId: 'order-1' }, 'http')).toBeNull();
  expect(fieldOf({ http: ['order-*'] }, { workflowId: 'bill-1' }, 'http')).toBe('workflowId');
  expect(fieldOf({ http: ['*'], allow: ['order-*'] }, { workflowId: 'bill-1' }, 'http')).toBe('workflowId');
  expect(fieldOf({ http: ['*'] }, { workflowId: 'muster/notifier' }, 'http')).toBe('workflowId');
});

test.each([
  ['order-*', 'order-', true],
  ['order-*', 'order-1/2', true],
  ['order-*', 'Order-1', false],
  ['order-*', 'x-order-1', false],
  ['*-end', 'a-end', true],
  ['*-end', 'a-end-b', false],
  ['a*b*c', 'a1b2c', true],
  ['a*b*c', 'abc', true],
  ['a*b*c', 'ac', false],
  ['ab*ba', 'aba', false],
  ['ab*b*ba', 'abba', false],
  ['a*b*b*c', 'abc', false],
  ['a*b*b*c', 'abbc', true],
  ['order-?', 'order-1', false],
  ['order.1', 'order-1', false],
  ['order-1', 'order-1', true],
  ['**', '', true],
])('the pattern %s takes %s: %s', (pattern, workflowId, expected) => {
  expect(fieldOf({ allow: [pattern] }, { workflowId }) === null).toBe(expected);
});

test('a refusal names the setting, and what it allows', () => {
  const policy = { allow: ['order-*', 'bill-*'], signals: ['pay'], http: [] };
  expect(workflowRefusal(policy, { workflowId: 'w' })).toEqual({
    field: 'workflowId',
    expected: 'one that callbacks.workflows.allow of the config file names (order-*, bill-*)',
    got: 'w',
  });
  expect(workflowRefusal(policy, { workflowId: 'order-1', signal: 's' })).toEqual({
    field: 'signal',
    expected:
      'musterTasksEnded, musterFanoutEnded, or one that callbacks.workflows.signals of the config file names (pay)',
    got: 's',
  });
});

test('a pattern of many stars takes no longer than its text', () => {
  let field: string | null = null;
  const work = (): void =>
    void (field = fieldOf({ allow: [`${'*a'.repeat(500)}b`] }, { workflowId: 'a'.repeat(1_000) }));
  expect(cpuMs(work)).toBeLessThan(1_000);
  expect(field).toBe('workflowId');
});

test('a named signal never begins with __, whatever the list says', () => {
  expect(fieldOf({ signals: ['order*'] }, { workflowId: 'o', signal: 'orderDone' })).toBeNull();
  expect(fieldOf({ signals: ['*'] }, { workflowId: 'o', signal: '__stack_trace' })).toBe('signal');
  expect(fieldOf({ signals: ['*'] }, { workflowId: 'o', signal: '__temporal_x' })).toBe('signal');
});

test('every workflow that Muster starts is its own, of each prefix in the namespace', () => {
  const ids = (prefix: string): Record<string, string[]> => ({
    leaderWorkflowId: [
      naming.leaderWorkflowId(prefix, 'orders', 'AT/0', 1),
      naming.leaderWorkflowId(prefix, 'orders', 'n'.repeat(300), 17),
    ],
    notifierWorkflowId: [naming.notifierWorkflowId(prefix)],
    balancerWorkflowId: [naming.balancerWorkflowId(prefix)],
    monitorWorkflowId: [naming.monitorWorkflowId(prefix, 'orders')],
    completionWorkflowId: [naming.completionWorkflowId(prefix, 'orders', '81')],
    queuerWorkflowId: [naming.queuerWorkflowId(prefix, 3)],
    executionWorkflowId: [naming.executionWorkflowId(prefix, '6f1b6a1e-2f0c-4f7e-9a51-0d8a2b9b2c11')],
  });
  const named = Object.keys(naming).filter((name) => name.endsWith('WorkflowId'));
  expect(Object.keys(ids('muster')).sort()).toEqual(named.sort());
  for (const prefix of ['muster', 'other.one'])
    for (const id of Object.values(ids(prefix)).flat()) expect([id, isOwnWorkflow(id)]).toEqual([id, true]);
  for (const id of [
    'order-1',
    'muster/user/one',
    'orders/execution/17',
    'queuer/x',
    'notifier',
    'muster2',
    'a b/leader/x',
  ])
    expect([id, isOwnWorkflow(id)]).toEqual([id, false]);
});
