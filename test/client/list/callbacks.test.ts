import { defineHandler, MusterError } from '../../../client';
import type { CallbackPage, ListCallbacksOptions, UndeliveredCallback } from '../../../client';
import type { SendCallbacksOptions } from '../../../client/callbacks/send';
import { callbacksToSend } from '../../../client/callbacks/send';
import { eventually } from '../../helpers/eventually';
import type { TestMuster } from '../../helpers/muster';
import { startMuster } from '../../helpers/muster';
import type { Receiver } from '../../services/notifier/receiver';
import { SECRET, startReceiver } from '../../services/notifier/receiver';

/** Callbacks that their receivers do not take, and then do. */

const handlerOf = (name: string) =>
  defineHandler<{ to: string }>({
    name,
    target: ({ to }) => to,
    limits: { maxItems: 1 },
    linger: { lingerMs: 50 },
    submit: async ({ tasks }) => ({ results: tasks.map(({ id }) => ({ id, status: 'ok' as const })) }),
  });

let muster: TestMuster;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  // 410 is never again, 500 is later.
  receiver.answer = (response, _, { path }) => void response.writeHead(path.startsWith('/gone') ? 410 : 500).end();
  muster = await startMuster([handlerOf('jobs'), handlerOf('others')], {
    callbacks: { allow: ['127.0.0.1:*'], secret: SECRET },
  });
  const task = (id: string, path: string) => ({ id, payload: { to: id }, callback: { url: `${receiver.url}${path}` } });
  await muster.client.submit('jobs', [task('g1', '/gone?token=t'), task('g2', '/gone?token=t'), task('l1', '/later')]);
  await muster.client.submit('others', task('o1', '/gone/too'));
  await muster.client.submit('others', {
    id: 'signal',
    payload: { to: 'signal' },
    callback: { workflowId: 'none-has-this-id' },
  });
  await eventually(async () => (await all({})).length === 5);
}, 120_000);
afterAll(async () => {
  await muster.stop();
  await receiver.close();
});

const all = async (options: ListCallbacksOptions): Promise<UndeliveredCallback[]> => {
  const found: UndeliveredCallback[] = [];
  for (let after: string | undefined; ;) {
    const page: CallbackPage = await muster.client.callbacks.list({
      ...options,
      ...(after === undefined ? {} : { after }),
    });
    found.push(...page.callbacks);
    if (page.next === null) return found;
    after = page.next;
  }
};

test('undelivered callbacks are listed once, the newest first, whatever the size of the pages', async () => {
  for (const limit of [1, 2, 1_000]) {
    const ids = (await all({ limit })).map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => b - a));
    expect(ids).toHaveLength(5);
    expect(await all({ limit, state: 'given-up' })).toHaveLength(4);
    expect(await all({ limit, state: 'retrying', handler: 'jobs' })).toHaveLength(1);
    expect(await all({ limit, handler: 'others' })).toHaveLength(2);
  }
});

test('what would be sent again is what a dry run shows: one alone, or those that were given up', async () => {
  const found = await all({});
  const shown = async (options: SendCallbacksOptions): Promise<UndeliveredCallback[]> =>
    (await callbacksToSend(muster.client, options, 1_000)).callbacks;
  const [one] = found;
  expect(await shown({ ids: [one!.id] })).toEqual([one]);
  expect(await shown({ ids: found.map(({ id }) => id) })).toEqual(found);
  expect(await shown({})).toEqual(await all({ state: 'given-up' }));
  expect(await shown({ handler: 'jobs', state: 'retrying' })).toEqual(
    await all({ handler: 'jobs', state: 'retrying' }),
  );
  await expect(shown({ ids: [one!.id, 999_999] })).rejects.toThrow('999999');
});

test('one says to whom it goes, without the query, and why it did not arrive', async () => {
  const gone = (await all({ handler: 'jobs', state: 'given-up' }))[0];
  expect(gone).toEqual({
    id: expect.any(Number),
    message: expect.stringMatching(/^msg_/),
    state: 'given-up',
    handler: 'jobs',
    batch: expect.any(Number),
    fanout: null,
    to: { url: `${receiver.url}/gone` },
    attempts: 1,
    error: expect.stringContaining('410'),
    createdAt: expect.any(String),
    nextAt: null,
    endedAt: expect.any(String),
  });
  const [later] = await all({ state: 'retrying' });
  expect(later).toMatchObject({ endedAt: null, nextAt: expect.any(String), error: expect.stringContaining('500') });
  const signal = (await all({ handler: 'others' })).find(({ to }) => 'workflowId' in to);
  expect(signal).toMatchObject({ to: { workflowId: 'none-has-this-id' }, state: 'given-up' });
});

test('an address that cannot be read hides no other', async () => {
  const set = (from: string, to: string) =>
    muster.database.pool.query({
      text: `update recipient set address = jsonb_build_object('url', $2::text) where address->>'url' = $1`,
      values: [from, to],
    });
  const [url, wrong] = [`${receiver.url}/gone/too`, 'https://[/'];
  await set(url, wrong);
  const found = await all({});
  await set(wrong, url);
  expect(found).toHaveLength(5);
  expect(found.filter(({ to }) => 'url' in to && to.url === 'not a URL')).toHaveLength(1);
});

test('errors.list counts them by handler', async () => {
  const { errors } = await muster.client.errors.list({ handler: 'jobs' });
  expect(errors.map(({ of, count, callbacks }) => [of, count, callbacks.length])).toContainEqual(['callback', 2, 2]);
  expect(errors[0]).toMatchObject({ again: 'muster callbacks send --handler jobs' });
});

test('what is no callback, or one that arrived, is refused, and nothing is sent', async () => {
  const { callbacks } = muster.client;
  const [one] = await all({ state: 'given-up' });
  for (const [options, message] of [
    [{ ids: [one!.id, 999_999] }, /^Callback "999999" not found.*Nothing was sent/],
    [{ ids: [] }, /^ids: expected a list/],
    [{ ids: [1.5] }, /^ids\[0\]: expected/],
    [{ ids: [one!.id], handler: 'jobs' }, /^handler: expected nothing beside `ids`/],
    [{ handler: 'none' }, /^Handler "none" not found/],
    [{ state: 'lost' as 'given-up' }, /^state: expected one of/],
  ] as const) {
    const refused = callbacks.send(options);
    await expect(refused).rejects.toThrow(MusterError);
    await expect(refused).rejects.toThrow(message);
  }
  expect(await all({ state: 'given-up' })).toHaveLength(4);
});

test('sent again, they arrive under the same id and leave the list', async () => {
  const before = await all({ handler: 'jobs' });
  // One that is tried again by itself, which it may be at any time, does not arrive yet.
  receiver.answer = (response, _, { path }) => void response.writeHead(path === '/later' ? 500 : 204).end();
  const first = receiver.received.length;
  await muster.client.callbacks.send({ state: 'retrying' });
  await eventually(() => receiver.received.length > first);
  const [one] = before.filter(({ state }) => state === 'given-up');
  expect(await muster.client.callbacks.send({ ids: [one!.id] })).toEqual({ sent: 1 });
  await eventually(async () => (await all({ handler: 'jobs' })).length === before.length - 1);
  const gone = receiver.received.slice(first).filter(({ path }) => path.startsWith('/gone'));
  expect(gone.map(({ headers }) => headers['webhook-id'])).toEqual([one!.message]);
  expect(await muster.client.callbacks.send({ state: 'given-up', handler: 'jobs' })).toEqual({ sent: 1 });
  await eventually(async () => (await all({ handler: 'jobs' })).length === before.length - 2);
  expect(await all({ handler: 'others' })).toHaveLength(2);
  receiver.answer = (response) => void response.writeHead(204).end();
  await muster.client.callbacks.send({ state: 'retrying' });
  await eventually(async () => (await all({ handler: 'jobs' })).length === 0);
  expect(receiver.received.slice(first).map(({ headers }) => headers['webhook-id'])).toEqual(
    expect.arrayContaining(before.map(({ message }) => message)),
  );
});

test('one that was given up has all of its tries again', async () => {
  receiver.answer = (response) => void response.writeHead(500).end();
  const [one] = await all({ handler: 'others', state: 'given-up' }).then((list) =>
    list.filter(({ to }) => 'url' in to),
  );
  await muster.database.pool.query('update notification set attempts = 200 where id = $1', [one!.id]);
  await muster.client.callbacks.send({ ids: [one!.id] });
  const again = await eventually(async () =>
    (await all({ handler: 'others' })).find(({ id, error }) => id === one!.id && error.includes('500')),
  );
  expect(again.state).toBe('retrying');
  expect(again.attempts).toBeLessThan(10);
});
