import ts from 'typescript';
import { read, trackedFiles } from './project';

/**
 * What starts, signals or ends workflows goes through `Requests.send`, which paces it, gives it a
 * deadline and counts it: nothing else calls Temporal's handles for that.
 */

const PRODUCT = /^(?:activities|bin|client|handlers|postgres|workers|workflows)\/.*\.ts$/;
const VERBS = new Set(
  (
    'start execute signalWithStart signal terminate cancel startUpdate executeUpdate startUpdateWithStart ' +
    'executeUpdateWithStart executeMultiOperation startBatchOperation createSchedule'
  ).split(' '),
);
const SERVICE =
  /^(?:start|signal|signalWithStart|terminate|requestCancel|delete|reset|update|pollUpdate)\w*WorkflowExecution$/i;

/** By file how many calls of the same name are none of these, and why. */
const OTHERS: Readonly<Record<string, readonly [calls: number, why: string]>> = {
  'activities/nodes/heartbeat/heartbeat.ts': [1, 'ends a thread'],
  'client/tasks/tasks.ts': [1, 'the verb of the store'],
  'client/cli/tasks/cancel.ts': [1, "the client's verb"],
  'client/cli/executions/execution.ts': [1, "the client's verb"],
  'handlers/sinks/openai-batch/index.ts': [1, 'a request to the downstream'],
  'workers/api/routes/executions.ts': [1, "the client's verb"],
  'workers/api/routes/tasks.ts': [1, "the client's verb"],
  'workflows/execution.ts': [2, 'a scope within a workflow'],
  'workflows/loops/lookLoop.ts': [1, 'a scope within a workflow'],
  'workers/testing/fake/fakeMuster.ts': [1, "the testing kit, on the user's test server"],
  'workers/testing/fake/fakeHandler.ts': [2, "the testing kit, on the user's test server"],
  'workers/testing/fake/fakeFanouts.ts': [1, "the testing kit, on the user's test server"],
};

type Access = ts.PropertyAccessExpression | ts.ElementAccessExpression;
const isAccess = (node: ts.Node): node is Access =>
  ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);
const nameOf = (called: Access): string | null => {
  if (ts.isPropertyAccessExpression(called)) return called.name.text;
  return ts.isStringLiteral(called.argumentExpression) ? called.argumentExpression.text : null;
};
/** `start` and `execute` are verbs of much else: only those of `workflow` count. */
const isRequest = (call: ts.CallExpression): boolean => {
  if (!isAccess(call.expression)) return false;
  const name = nameOf(call.expression);
  if (name === null) return false;
  const of = call.expression.expression.getText();
  if (name === 'start' || name === 'execute') return /(?:^|\.)workflow!?$/.test(of);
  return VERBS.has(name) || SERVICE.test(name);
};
const isWithinSend = (node: ts.Node): boolean => {
  for (let at = node.parent; at !== undefined; at = at.parent)
    if (ts.isCallExpression(at) && /\brequests\s*\.send$/.test(at.expression.getText())) return true;
  return false;
};

/** Returns the lines, from 1, of calls beside `send`. */
const linesBeside = (file: string, text: string): number[] => {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lines: number[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isRequest(node) && !isWithinSend(node))
      lines.push(source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    ts.forEachChild(node, visit);
  };
  visit(source);
  return lines;
};

const found = new Map(
  trackedFiles()
    .filter((file) => PRODUCT.test(file))
    .map((file) => [file, linesBeside(file, read(file))] as const)
    .filter(([, lines]) => lines.length > 0),
);

test('workflows are started, signalled and ended through Requests.send alone', () => {
  const beside = [...found].filter(([file, lines]) => lines.length !== (OTHERS[file]?.[0] ?? 0));
  expect(beside.map(([file, lines]) => `${file}:${lines.join(',')}`)).toEqual([]);
});

test('each exception is still one', () => {
  expect(Object.keys(OTHERS).filter((file) => !found.has(file))).toEqual([]);
});

test.each([
  ['a start', 'await client.workflow.start("x", options);', [1]],
  ['a start of the pool', 'server.start();', []],
  ['one within send', 'requests.send(of, ({ workflow }) => workflow.signalWithStart("x", options));', []],
  ['a handle kept', 'const run = workflow.getHandle(id);\nawait run.terminate("why");', [2]],
  ['a signal in a helper', 'const tell = () => handle.signal(done);\nrequests.send(of, tell);', [1]],
  ['a verb in brackets', 'await run["terminate"]();', [1]],
  ['an update', 'await run.executeUpdate(set);', [1]],
  ['the raw service', 'temporal.workflowService.terminateWorkflowExecution(request);', [1]],
])('the search itself: %s', (_, text, lines) => {
  expect(linesBeside('x.ts', text)).toEqual(lines);
});
