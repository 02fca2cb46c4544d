import { z } from 'zod';
import { COPY_FROM } from '../../../client/tasks/taskInserter';
import { MAX_TASKS_PER_CALL } from '../../../client/tasks/calls/submitCall';
import type { Client } from '../../../client/client';
import { chunksOf } from '../../../client/context';
import { NotFoundError } from '../../../client/errors';
import { readTaskBytes } from '../../../postgres/operations/taskView';
import type { TaskView } from '../../../workflows/contracts/task';
import {
  cancellation,
  explanation,
  submitAnswer,
  taskInput,
  taskPage,
  taskState,
  taskView,
} from '../../../workflows/contracts/task';
import { verdict } from '../../../workflows/contracts/batch';
import {
  afterPage,
  count,
  errorPart,
  handlerName,
  pageLimit,
  targetKey,
  taskId,
  taskTag,
  time,
} from '../../../workflows/contracts/fields';
import { TIME_ORDERS } from '../../../workflows/planning/pages';
import type { TaskState } from '../../../workflows/planning/states';
import { isTerminal } from '../../../workflows/planning/states';
import { PAGE_BYTES } from '../bodies/memory';
import { boundedProblems } from '../bodies/refused';
import { ApiProblem } from '../problem';
import { route } from '../route';
import { waited } from '../streams';
import { callbacksOf, refuseWorkflows } from './operator';
import { hasMany, isWaiting, waitQuery } from './parts';

const tag = 'Tasks';
const MOST_LOOKED_UP = 1_000;
/** Bytes of JSON of one lookup. */
const MOST_BYTES = 2 * PAGE_BYTES;
const PART = 10;
const ids = (max: number) => z.strictObject({ ids: z.array(taskId).min(1).max(max) });

const submit = route({
  id: 'submitTasks',
  method: 'POST',
  path: '/v1/handlers/{handler}/tasks',
  scope: 'submit',
  tag,
  summary: 'Submit one or more tasks',
  description:
    'Returns once the tasks are committed: all or none, unless `partial`. Submitting a task again with the same id and content has no effect.',
  params: z.object({ handler: handlerName }),
  body: z.strictObject({
    tasks: z.array(taskInput).min(1).max(MAX_TASKS_PER_CALL),
    partial: z.boolean().optional().describe('Accept the valid tasks, and report the problems of the others'),
  }),
  answer: { status: 200, schema: submitAnswer, description: 'Accepted' },
  problems: ['not-found', 'id-conflict', 'conflict', 'refused', 'backlogged', 'quota'],
  keyed: 'tx',
  isHeavy: (body) => {
    const tasks = (body as { tasks?: unknown } | undefined)?.tasks;
    return Array.isArray(tasks) && tasks.length >= COPY_FROM;
  },
  run: async ({
    client,
    params,
    body: { tasks, partial = false },
    tx,
    admit,
    admitLanes,
    afterCommit,
    operator,
    traceparent,
  }) => {
    refuseWorkflows(operator, callbacksOf(tasks, 'tasks'));
    const submitted = await client.submit(params.handler, tasks, {
      partial,
      ...(admit === undefined ? {} : { admit }),
      ...(admitLanes === undefined ? {} : { admitLanes }),
      ...(tx === undefined ? {} : { tx }),
      ...(traceparent === undefined ? {} : { traceparent }),
    });
    if (tx !== undefined) afterCommit(() => submitted.ring());
    const { accepted, repeated, refused } = submitted;
    return { accepted, repeated, refused: boundedProblems(refused) };
  },
  hasEffect: ({ accepted }) => accepted > 0,
});

const times = {
  since: time
    .max(40)
    .optional()
    .describe('Only tasks that ended at this time or later; where `state` is not final: that were accepted then'),
  until: time.max(40).optional().describe('Only tasks that ended, or were accepted, before this time'),
};

const which = {
  state: taskState.optional().describe('Only tasks in this state; may be left out with `tag`'),
  tag: taskTag.optional().describe('Only tasks that were submitted with this tag'),
};

const list = route({
  id: 'listTasks',
  method: 'GET',
  path: '/v1/handlers/{handler}/tasks',
  scope: 'read',
  tag,
  summary: 'List the tasks of a handler that are in one state, or have a tag',
  description:
    'Tasks that have ended come newest first, others by target, as they will be sent; with a tag, newest first, and so ' +
    'do waiting ones with `since` or `until`, save in lanes. ' +
    'A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`.',
  params: z.object({ handler: handlerName }),
  query: z.strictObject({
    ...which,
    order: z
      .enum(TIME_ORDERS)
      .optional()
      .describe('Waiting tasks (created) over all targets, by when they were accepted; not of a handler with lanes'),
    target: targetKey.optional(),
    ...times,
    error: errorPart.describe('Only tasks whose error contains this text'),
    limit: pageLimit(100),
    after: afterPage,
  }),
  answer: { status: 200, schema: taskPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, params: { handler }, query }) => client.tasks.list(handler, query),
});

const listAll = route({
  id: 'listAllTasks',
  method: 'GET',
  path: '/v1/tasks',
  scope: 'read',
  tag,
  summary: 'List the tasks of all handlers that have ended in one way, or have a tag, newest first',
  description: 'A page looks at a bounded number of rows: it may be short, even empty, and still have a `next`.',
  query: z.strictObject({
    ...which,
    ...times,
    error: errorPart.describe('Only tasks whose error contains this text'),
    limit: pageLimit(100),
    after: afterPage,
  }),
  answer: { status: 200, schema: taskPage, description: 'A page' },
  problems: ['not-found'],
  isLarge: true,
  run: ({ client, query }) => client.tasks.list(null, query),
});

const get = route({
  id: 'getTask',
  method: 'GET',
  path: '/v1/tasks/{id}',
  scope: 'read',
  tag,
  summary: 'Show a task now or, with `wait`, once it has ended',
  description: 'With `wait` it answers as soon as the task is terminal or unknown, and as it is when the time is up.',
  params: z.object({ id: taskId }),
  query: z.strictObject({ wait: waitQuery }),
  answer: { status: 200, schema: taskView, description: 'The task' },
  problems: ['not-found'],
  waits: isWaiting,
  isLarge: true,
  until: async ({ client, params: { id }, query, signal, together, maxWaitS }) => {
    const waitS = Math.min(query.wait, maxWaitS);
    if (waitS === 0) return;
    // Those who wait hold no payload meanwhile.
    const look = async () => (await found(client, id)).state;
    const isOver = (state: TaskState): boolean => isTerminal(state) || state === 'unknown';
    await waited({ look, again: together(look), isOver, waitS, signal });
  },
  run: ({ client, params: { id } }) => found(client, id),
});

const found = async (client: Client, id: string): Promise<TaskView> => {
  const task = await client.getTask(id);
  if (task === null)
    throw new NotFoundError('task', id, 'It was never accepted, or it was deleted after its retention period.');
  return task;
};

const lookUp = route({
  id: 'lookUpTasks',
  method: 'POST',
  path: '/v1/tasks:lookup',
  scope: 'read',
  tag,
  summary: 'Show many tasks in the order of the ids; tasks that do not exist are omitted',
  description: 'Refused where the tasks have more than 16 MB together: ask for fewer.',
  body: ids(MOST_LOOKED_UP),
  isHeavy: hasMany('ids'),
  answer: { status: 200, schema: z.object({ tasks: z.array(taskView) }), description: 'The tasks that exist' },
  problems: ['too-large'],
  isLarge: true,
  run: async ({ client, body }) => {
    const size = await readTaskBytes(client.pool, body.ids);
    if (size.own > MOST_BYTES) throw tooLarge();
    const tasks: TaskView[] = [];
    let bytes = 0;
    // Where they may have more together, they are read in parts, not to hold more than that.
    for (const part of chunksOf(body.ids, size.own + size.paged > MOST_BYTES ? PART : MOST_LOOKED_UP)) {
      const some = await client.getTasks(part);
      bytes += Buffer.byteLength(JSON.stringify(some));
      if (bytes > MOST_BYTES) throw tooLarge();
      tasks.push(...some);
    }
    return { tasks };
  },
});

const tooLarge = (): ApiProblem => {
  const message = 'expected tasks of at most 16 MB together, got more: ask for fewer ids at once';
  return new ApiProblem('too-large', `ids: ${message}.`, {
    code: 'ANSWER_TOO_LARGE',
    errors: [{ field: 'ids', message }],
  });
};

const explain = route({
  id: 'explainTask',
  method: 'GET',
  path: '/v1/tasks/{id}/explain',
  scope: 'read',
  tag,
  summary: "Explain a task's state, what it is waiting for, and its earliest next step",
  params: z.object({ id: taskId }),
  answer: { status: 200, schema: explanation, description: 'The explanation, as text and as facts' },
  problems: ['not-found'],
  run: ({ client, params, prefix }) => client.explain(params.id, prefix === undefined ? {} : { namesWithin: prefix }),
});

const cancel = route({
  id: 'cancelTasks',
  method: 'POST',
  path: '/v1/tasks:cancel',
  scope: 'submit',
  tag,
  summary: 'Cancel tasks that have not been sent',
  description:
    'In a lane this includes tasks of unsent batches, if every task of the batch is named. The answer gives the state of tasks that were not cancelled.',
  body: ids(MAX_TASKS_PER_CALL),
  isHeavy: hasMany('ids'),
  answer: { status: 200, schema: cancellation, description: 'The tasks that were cancelled, and those that were not' },
  problems: [],
  keyed: 'harmless',
  run: ({ client, body }) => client.cancel(body.ids),
});

const resolve = route({
  id: 'resolveTasks',
  method: 'POST',
  path: '/v1/tasks:resolve',
  scope: 'operate',
  tag,
  summary: 'Manually resolve parked tasks with an unknown outcome',
  body: ids(MAX_TASKS_PER_CALL).extend(verdict.shape),
  isHeavy: hasMany('ids'),
  answer: { status: 200, schema: z.object({ resolved: count }), description: 'Resolved' },
  problems: ['not-found', 'conflict'],
  keyed: 'harmless',
  run: ({ client, body: { ids: tasks, ...end } }) => client.resolve({ tasks }, end),
});

export const taskRoutes = [submit, list, listAll, get, lookUp, explain, cancel, resolve];
