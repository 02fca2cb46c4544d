import { connect } from 'node:net';
import type { Socket } from 'node:net';
import pino from 'pino';
import { defineHandler } from '../../../handlers';
import type { CallbackServer } from '../../../workers/callbacks/server';
import { listenForCallbacks } from '../../../workers/callbacks/server';
import { callbackUrl } from '../../../workers/callbacks/token';
import { completeSignal } from '../../../workflows/definitions';
import type { TasksEnded } from '../../../workflows/definitions';
import { monitorWorkflowId } from '../../../workflows/naming';
import type { ApiWorld } from '../../api/world';
import { openWorld } from '../../api/world';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import { expectWhole } from '../../helpers/whole';
import type { Receiver } from '../../services/notifier/receiver';
import { messagesOf, SECRET, startReceiver } from '../../services/notifier/receiver';
import { Tally } from '../tally';

/**
 * Crooked values in the completion of an accepted batch, through each door that takes one: every
 * reader of the tasks answers afterwards, and so does the receiver of their callbacks.
 */

const tally = new Tally('crooked completions');
const replays = new Tally('replayed completions');
const unfinished = new Tally('completions that never end');
const handler = defineHandler<{ to: string }>({
  name: 'jobs',
  target: ({ to }) => to,
  limits: { maxItems: 20 },
  linger: { lingerMs: 20 },
  poll: { everyMs: 3_600_000, deadlineMs: 36_000_000 },
  status: async (references) => references.map((reference) => ({ reference, status: 'pending' })),
  results: () => [],
  submit: async (batch, { callbackUrl }) => {
    urls.set(batch.target, callbackUrl!);
    return { status: 'accepted', reference: batch.target };
  },
});
/** By target: where its completion may be posted to. */
const urls = new Map<string, string>();
const secrets = ['s'.repeat(32)];
const MAX_BYTES = 1_000_000;
let receiver: Receiver;
let callbacks: CallbackServer;
let muster: TestMuster;
let world: ApiWorld;
beforeAll(async () => {
  receiver = await startReceiver();
  const log = pino({ level: 'silent' });
  callbacks = await listenForCallbacks({ port: 0, host: '127.0.0.1', secrets, maxBytes: MAX_BYTES, log });
  const policy = { allow: ['127.0.0.1:*'], secret: SECRET };
  muster = await startMuster([handler], {
    callbacks: policy,
    callback: { url: callbacks.url, secrets, urlMs: 600_000 },
  });
  callbacks.serve(muster.node.deps);
  world = await openWorld({ handlers: [handler], muster, callbacks: policy });
});
afterAll(async () => {
  await world.stop();
  await callbacks.stop(1_000);
  await expectWhole(muster.client);
  await muster.stop();
  await receiver.close();
});

interface Completion {
  reference: string;
  results: unknown[];
}
/** Each ends once the completion is taken, or throws with the answer. */
const doors: Record<string, (told: Completion) => Promise<void>> = {
  'the API': async (body) => {
    const answer = await world.call('POST /v1/handlers/jobs/complete', { body });
    if (answer.status !== 200) throw new Error(answer.text);
  },
  'the URL of a callback': async ({ reference, results }) => {
    const answer = await fetch(urls.get(reference)!, { method: 'POST', body: JSON.stringify({ results }) });
    if (answer.status !== 200) throw new Error(await answer.text());
  },
  'a signal': async (told) => {
    const temporal = await muster.client.temporal();
    await temporal.workflow.signalWithStart('monitor', {
      workflowId: monitorWorkflowId(muster.prefix, 'jobs'),
      taskQueue: muster.prefix,
      args: [{ handler: 'jobs' }],
      signal: completeSignal.name,
      signalArgs: [told],
    });
  },
};
const deep = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));
/** Each with what must be there instead. */
const CROOKED: readonly (readonly [given: object, kept: object])[] = [
  [{ status: 'ok', result: 'a\0b' }, { result: 'a\ufffdb' }],
  [{ status: 'ok', result: { 'k\0': ['\ud800', '\udfffx'] } }, { result: { 'k\ufffd': ['\ufffd', '\ufffdx'] } }],
  [{ status: 'ok', result: '\\u0000' }, { result: '\\u0000' }],
  [
    { status: 'failed', error: 'e\0\udc00', result: '\0' },
    { error: 'e\ufffd\ufffd', result: '\ufffd' },
  ],
  [{ status: 'ok', result: deep(90) }, { result: deep(90) }],
  [{ status: 'ok', result: 'mate' }, { result: 'mate' }],
];

const accepted = (reference: string): Promise<true> => {
  const found = 'select from batch where reference = $1';
  return eventually(async () => (await muster.database.pool.query(found, [reference])).rowCount === 1);
};

test.each(Object.keys(doors))('by %s: what cannot be kept is replaced, and every reader answers', async (door) => {
  const to = door.replaceAll(' ', '-');
  const ids = CROOKED.map((_, i) => `${to}-${i}`);
  const callback = { url: `${receiver.url}/${to}` };
  await muster.client.submit(
    'jobs',
    ids.map((id) => ({ id, payload: { to }, callback })),
  );
  await accepted(to);
  await doors[door]!({ reference: to, results: CROOKED.map(([given], i) => ({ id: ids[i]!, ...given })) });
  await muster.client.waitFor(ids, { timeoutMs: 60_000 });

  const lookUp = await world.call('POST /v1/tasks:lookup', { body: { ids } });
  expect(lookUp.status).toBe(200);
  const told = await eventually(() =>
    messagesOf<TasksEnded>(receiver).find(({ data }) => data.tasks.some(({ id }) => id === ids[0])),
  );
  for (const [i, id] of ids.entries()) {
    const kept = CROOKED[i]![1];
    const one = await world.call(`GET /v1/tasks/${id}`);
    expect([id, one.status, one.body]).toEqual([id, 200, expect.objectContaining(kept)]);
    expect(lookUp.body.tasks[i]).toMatchObject({ id, ...kept });
    expect(told.data.tasks.find((task) => task.id === id)).toMatchObject(kept);
    tally.add(`${door} ${id}`, null);
  }
  const open = 'select from notification where done_at is null';
  await eventually(async () => (await muster.database.pool.query(open)).rowCount === 0);
});

test('the URL of a batch that was answered, sent again or spelled otherwise, changes nothing', async () => {
  for (const id of ['once', 'other']) await muster.client.submit('jobs', { id, payload: { to: id } });
  for (const to of ['once', 'other']) await accepted(to);
  const post = async (url: string, result: unknown) => {
    const results = [{ id: 'once', status: 'ok', result }];
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ results }) });
    return `${answer.status}${answer.ok ? ` ${((await answer.json()) as { repeated: boolean }).repeated}` : ''}`;
  };
  const [mine, other] = [urls.get('once')!, urls.get('other')!];
  expect(await post(mine, 'first')).toBe('200 false');
  const [, base, stamp, mac] = /^(.*\/)([\d.]+)\/([\w-]+)$/.exec(mine)!;
  const [id, createdUs, expiresS] = stamp!.split('.').map(Number) as [number, number, number];
  const key = { installation: muster.node.deps.installation };
  const signed = (installation: string, secret: string): string =>
    callbackUrl(callbacks.url, { installation, secrets: [secret] }, { id, createdUs }, 600_000);
  const tries: Readonly<Record<string, readonly [url: string, expected: string]>> = {
    'the same, with another result': [mine, '409'],
    'another batch with its token': [other.replace(/\/[\w-]+$/, `/${mac}`), '401'],
    'its token for a later batch': [`${base}${id + 1}.${createdUs}.${expiresS}/${mac}`, '401'],
    'a later time': [`${base}${id}.${createdUs}.${expiresS + 1}/${mac}`, '401'],
    'no time': [`${base}${id}.${createdUs}/${mac}`, '401'],
    'signed by another secret': [signed(key.installation, 'o'.repeat(32)), '401'],
    'signed for another installation': [signed('00000000-0000-4000-8000-000000000000', secrets[0]!), '401'],
    'signed anew': [signed(key.installation, secrets[0]!), '409'],
  };
  for (const [what, [url, expected]] of Object.entries(tries)) {
    const answer = await post(url, 'second');
    replays.add(what, answer === expected ? null : answer);
  }
  replays.add('the same once more', (await post(mine, 'first')) === '200 true' ? null : 'settled twice');
  expect(await muster.client.getTask('once')).toMatchObject({ state: 'succeeded', result: 'first' });
  expect(await muster.client.getTask('other')).toMatchObject({ state: 'in-progress' });
  await muster.client.complete('jobs', { reference: 'other', results: [{ id: 'other', status: 'ok' }] });
  replays.expectNoneThrough(9);
});

/** What each of many connections to one URL sends, and then nothing more. */
const UNFINISHED: Readonly<Record<string, { announces: string; sends: string }>> = {
  'announces the largest body': { announces: `Content-Length: ${MAX_BYTES}`, sends: '{' },
  'announces no length': { announces: 'Transfer-Encoding: chunked', sends: '1\r\n{\r\n' },
  'sends all of the largest body but its end': {
    announces: `Content-Length: ${MAX_BYTES}`,
    sends: `{"results":["${'x'.repeat(MAX_BYTES - 20)}`,
  },
};

test('who sends to the URL of one batch what never ends keeps no other batch out', async () => {
  const kinds = Object.keys(UNFINISHED);
  const targets = ['held', ...kinds.map((_, i) => `beside-${i}`)];
  for (const to of targets) await muster.client.submit('jobs', { id: to, payload: { to } });
  for (const to of targets) await accepted(to);
  const post = async (to: string): Promise<number> => {
    const body = JSON.stringify({ results: [{ id: to, status: 'ok', result: 'x'.repeat(1_000) }] });
    return (await fetch(urls.get(to)!, { method: 'POST', body })).status;
  };
  const { port, pathname } = new URL(urls.get('held')!);
  for (const [i, kind] of kinds.entries()) {
    const { announces, sends } = UNFINISHED[kind]!;
    const sockets = await Promise.all(
      Array.from({ length: 12 }, async () => {
        const socket = await connected(Number(port));
        socket.write(`POST ${pathname} HTTP/1.1\r\nHost: 127.0.0.1\r\n${announces}\r\n\r\n${sends}`);
        return socket;
      }),
    );
    // By then all of it has arrived.
    for (let n = 0; n < 20; n++) expect((await fetch(callbacks.url)).status).toBe(404);
    const status = await post(targets[i + 1]!);
    unfinished.add(kind, status === 200 ? null : `another batch was answered ${status}`);
    for (const socket of sockets) socket.destroy();
  }
  expect(await eventually(async () => (await post('held')) === 200)).toBe(true);
  unfinished.expectNoneThrough(3);
});

const connected = async (port: number): Promise<Socket> => {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
};

test('addresses of callbacks with such characters are refused, and nothing is stored', async () => {
  for (const text of ['a\0b', '\ud800', 'x\udfff'])
    for (const callback of [
      { url: `https://127.0.0.1/${text}` },
      { workflowId: text },
      { workflowId: 'w', runId: text },
      { workflowId: 'w', signal: text },
    ]) {
      const task = { id: 'refused', payload: { to: 'x' }, callback };
      const submitted = muster.client.submit('jobs', task).then(() => null, String);
      const opened = muster.client.openFanout({ notify: callback }).then(() => null, String);
      for (const said of [await submitted, await opened])
        tally.add(JSON.stringify(callback), said === null || !/callback|notify/.test(said) ? String(said) : null);
    }
  expect(await muster.client.getTask('refused')).toBeNull();
  tally.expectNoneThrough(40);
});
