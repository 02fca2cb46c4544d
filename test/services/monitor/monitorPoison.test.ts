import type { Client as TemporalClient } from '@temporalio/client';
import { defaultPayloadConverter, toPayloads } from '@temporalio/common';
import type { Payload } from '@temporalio/common';
import { temporal as protos } from '@temporalio/proto';
import type { ItemResult } from '../../../handlers';
import { defineHandler } from '../../../handlers';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';

/**
 * Whatever comes to a handler's monitor, from a client in any language, it goes on asking about the
 * batches that were accepted.
 *
 * @slow
 */

let muster: TestMuster;
let temporal: TemporalClient;
const POISONED = ['typo', 'silent', 'coded', 'broken', 'memo'];
beforeAll(async () => {
  muster = await startMuster(
    [...POISONED, 'told'].map((name) =>
      defineHandler<{ to: string }>({
        name,
        target: ({ to }) => to,
        limits: { maxItems: 10 },
        linger: { lingerMs: 10 },
        submit: async (batch) => ({ status: 'accepted', reference: batch.target }),
        ...(name === 'told'
          ? {}
          : {
              poll: { everyMs: 200, deadlineMs: 600_000 },
              status: async (references) => references.map((reference) => ({ reference, status: 'done' as const })),
              results: (reference) => [{ id: `${reference}-0`, status: 'ok' }] satisfies ItemResult[],
            }),
      }),
    ),
  );
  temporal = await muster.client.temporal();
});
afterAll(() => muster.stop());
afterEach(() => expectWhole(muster.client));

const bytes = (text: string): Uint8Array => Buffer.from(text);
const payload = (encoding: string, data: string): Payload => ({
  metadata: { encoding: bytes(encoding) },
  data: bytes(data),
});
const json = (value: unknown): Payload => defaultPayloadConverter.toPayload(value);

/** As a foreign client sends it: the payloads are what they are. */
const signalWithStart = (handler: string, input: Payload[], signal: Payload[]): Promise<unknown> =>
  temporal.workflowService.signalWithStartWorkflowExecution({
    namespace: 'default',
    identity: 'a client of another kind',
    requestId: `${handler}-${Math.random()}`,
    workflowId: `${muster.prefix}/monitor/${handler}`,
    workflowType: { name: 'monitor' },
    taskQueue: { name: muster.prefix },
    input: { payloads: input },
    signalName: 'complete',
    signalInput: { payloads: signal },
    workflowIdConflictPolicy: protos.api.enums.v1.WorkflowIdConflictPolicy.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
  });
const completions = async (handler: string): Promise<unknown[]> => {
  const found: unknown[] = [];
  for await (const { workflowId } of temporal.workflow.list({
    query: `WorkflowId STARTS_WITH '${muster.prefix}/completion/${handler}/'`,
  }))
    found.push(...((await temporal.workflow.getHandle(workflowId).result()) as unknown[]));
  return found;
};

const nothing = toPayloads(defaultPayloadConverter, { reference: 'nowhere', results: [] })!;
test.each<[string, string, Payload[], Payload[], object]>([
  ['an input with another handler', 'typo', [json({ handler: 'typpo' })], nothing, { kind: 'unknown-batch' }],
  ['no input', 'silent', [], nothing, { kind: 'unknown-batch' }],
  [
    'a payload of an encoding that no converter here knows',
    'coded',
    [json({ handler: 'coded' })],
    [payload('binary/encrypted', 'secret')],
    { kind: 'unreadable', error: expect.stringMatching(/^completion: .*Unknown encoding: binary\/encrypted/) },
  ],
  [
    'broken JSON, in the input as well',
    'broken',
    [payload('json/plain', '{')],
    [payload('json/plain', '{"reference":')],
    { kind: 'unreadable', error: expect.stringMatching(/^completion: .*JSON/) },
  ],
  [
    'payloads without metadata',
    'memo',
    [{ data: bytes('?') }],
    [{ data: bytes('?') }],
    { kind: 'unreadable', error: expect.stringMatching(/^completion: /) },
  ],
])(
  '%s: it is refused with its reason, and a batch that is accepted afterwards is asked about',
  async (_, handler, input, told, answer) => {
    await signalWithStart(handler, input, told);
    const begun = performance.now();
    await muster.client.submit(handler, [{ id: `${handler}-0`, payload: { to: handler } }]);
    await muster.client.waitFor([`${handler}-0`], { timeoutMs: 30_000 });
    expect(performance.now() - begun).toBeLessThan(20_000); // a second or two; the sweeper's next monitor would be later
    expect((await muster.client.getTask(`${handler}-0`))!.state).toBe('succeeded');
    await eventually(async () => (await completions(handler)).length === 1);
    expect(await completions(handler)).toEqual([expect.objectContaining(answer)]);
  },
);

const start = (id: string, ...args: unknown[]): Promise<unknown> =>
  temporal.workflow.execute('completion', {
    workflowId: `${muster.prefix}/completion/${id}`,
    taskQueue: muster.prefix,
    args,
  });

test('a workflow of type completion answers its sender; a handler that nobody has, no input and nonsense are answered at once', async () => {
  await muster.client.submit('told', [{ id: 'told-0', payload: { to: 'one' } }]);
  await eventually(
    async () =>
      (await muster.database.pool.query({ text: `select from batch where reference = 'one'` })).rowCount === 1,
  );
  const told = { handler: 'told', reference: 'one', results: [{ id: 'told-0', status: 'ok', result: 7 }] };
  expect(await start('told/one', told)).toMatchObject({ kind: 'completed', state: 'succeeded', repeated: false });
  expect(await start('told/one', told)).toMatchObject({ kind: 'completed', repeated: true });
  expect(await start('told/one', { ...told, results: [] })).toMatchObject({ kind: 'stale', state: 'succeeded' });
  expect(await start('1', { ...told, handler: 'tolld' })).toEqual({
    kind: 'unknown-handler',
    error: 'handler: expected the name of a handler of this installation, got "tolld"',
  });
  expect(await start('2')).toMatchObject({ kind: 'unknown-handler', error: expect.stringMatching(/got nothing$/) });
  expect(await start('3', 'told')).toMatchObject({ kind: 'unknown-handler' });
  expect(await start('4', { handler: 'told' })).toMatchObject({
    kind: 'unreadable',
    error: /* of the reference */ expect.stringMatching(/^reference: expected either/),
  });
});

test('a monitor under an id that names no handler ends with the reason', async () => {
  const run = temporal.workflow.execute('monitor', {
    workflowId: `${muster.prefix}/monitors/told`,
    taskQueue: muster.prefix,
    args: [{ handler: 'told' }],
  });
  await expect(run).rejects.toMatchObject({
    cause: { message: expect.stringMatching(/^Cannot monitor under the id .*\/monitor\/<handler>/) },
  });
});
