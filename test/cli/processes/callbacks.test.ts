import { readInstallation } from '../../../postgres/installation';
import { callbackUrl } from '../../../workers/callbacks/token';
import { eventually } from '../../helpers/eventually';
import { freePort } from '../../helpers/machine/freePort';
import type { CallbackWorld } from '../callbackWorld';
import { createCallbackWorld, SECRET } from '../callbackWorld';
import type { CliProcess } from '../process';

/**
 * H7: completion by HTTP callback, with the downstream and the workers in processes of their own.
 *
 * @slow
 */

let world: CallbackWorld;
let worker: CliProcess;
/** Of the worker that listens; the next one takes the same, as behind one address. */
let port: number;
const workers: CliProcess[] = [];

const startWorker = async (): Promise<CliProcess> => {
  const started = await world.worker(`--json --callback-port ${port} --shutdown-grace 10s`);
  workers.push(started);
  return started;
};
beforeAll(async () => {
  world = await createCallbackWorld();
  port = await freePort();
  worker = await startWorker();
});
afterAll(() => world.close());

/** The call of a target once its acceptance is written: until then a completion may get 409. */
const accepted = async (to: string) => {
  const job = await world.jobs.job(to);
  const reference = `select from task k join member m using (seq) join batch b on b.id = m.batch_id
    where k.id = $1 and b.reference is not null`;
  await eventually(async () => (await world.database.pool.query(reference, [`${to}-0`])).rowCount === 1);
  return job;
};

const oks = (of: readonly string[]) => of.map((id) => ({ id, status: 'ok', result: { of: id } }));

describe('without a lane [H7]', () => {
  test('done, twice, late and otherwise, a stranger, a missing member, a wrong token: each answered by name [H7]', async () => {
    const [first, ...rest] = await world.submitTo('jobs', 'plain', 3);
    const job = await accepted('plain');
    expect(await world.jobs.tell(job, { results: oks(['nobody']) })).toMatchObject({
      status: 400,
      type: 'application/problem+json',
      body: { type: 'urn:muster:problem:unreadable', field: 'results', detail: expect.stringContaining('"nobody"') },
    });
    const lossy = `{"results":[{"id":"${first}","status":"ok","result":{"n":9007199254740993}}]}`;
    expect(await world.jobs.tell(job, lossy)).toMatchObject({
      status: 400,
      type: 'application/problem+json',
      body: {
        type: 'urn:muster:problem:unreadable',
        code: 'LOSSY_NUMBER',
        field: 'results[0].result.n',
        detail: expect.stringContaining('got 9007199254740993'),
      },
    });
    expect(await world.states([first!, ...rest])).toEqual(['in-progress', 'in-progress', 'in-progress']);
    const results = oks([first!, rest[0]!]);
    const answer = { state: 'succeeded', reference: '1', results: { ok: 2, retry: 0, failed: 0, unknown: 1 } };
    expect(await world.jobs.tell(job, { results })).toMatchObject({
      status: 200,
      body: { ...answer, repeated: false },
    });
    expect(await world.states([first!, ...rest])).toEqual(['succeeded', 'succeeded', 'unknown']);
    // Members that are not read are the sender's own.
    const again = `{"job":9007199254740993,${JSON.stringify({ results }).slice(1)}`;
    expect(await world.jobs.tell(job, again)).toMatchObject({ status: 200, body: { ...answer, repeated: true } });
    expect(await world.jobs.tell(job, { results: oks([first!, ...rest]) })).toMatchObject({
      status: 409,
      retryAfter: null,
      body: { type: 'urn:muster:problem:stale', state: 'succeeded', batch: expect.any(Number) },
    });
    const forged = { ...job, callback: `${job.callback.slice(0, -1)}${job.callback.endsWith('A') ? 'B' : 'A'}` };
    const wrong = await fetch(forged.callback, { method: 'POST', body: '{}' });
    expect([wrong.status, wrong.headers.get('www-authenticate')]).toEqual([401, 'Callback']);
    expect(worker.stderr()).not.toContain(job.callback.split('/').at(-1)!);
    expect(worker.stderr()).toContain('"msg":"callback"');
  });

  test('expired and failed; the URL in a header [H7]', async () => {
    await world.submitTo('headed', 'exp', 2);
    const job = await accepted('exp');
    expect(await world.jobs.tell(job, { status: 'expired', results: oks(['exp-0']) })).toMatchObject({
      status: 200,
      body: { results: { ok: 1, retry: 1 } },
    });
    const again = await world.jobs.job('exp', 2);
    expect(again.ids).toEqual(['exp-1']);
    expect(again.callback).not.toBe(job.callback);
    expect(await world.jobs.tell(again, { status: 'failed', error: 'no such account' })).toMatchObject({
      status: 200,
      body: { state: 'failed' },
    });
    expect(await world.states(['exp-0', 'exp-1'])).toEqual(['succeeded', 'failed']);
  });

  test('forty at once with the same: all are answered 200, one of them settled it [H7]', async () => {
    await world.submitTo('jobs', 'burst', 2);
    const job = await accepted('burst');
    const all = await Promise.all(Array.from({ length: 40 }, () => world.jobs.tell(job, { results: oks(job.ids) })));
    expect([...new Set(all.map(({ status }) => status))]).toEqual([200]);
    expect(all.filter(({ body }) => body['repeated'] === false)).toHaveLength(1);
  });

  test('RFC 9457: what is wrong with a request is named: path, method, body, size, batch', async () => {
    await world.submitTo('jobs', 'shape', 1);
    const job = await accepted('shape');
    const post = async (url: string, init: RequestInit = {}) => {
      const answer = await fetch(url, { method: 'POST', ...init });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    expect(await post(`http://127.0.0.1:${port}/other`)).toMatchObject({ status: 404, body: { status: 404 } });
    expect(await post(job.callback, { method: 'GET' })).toMatchObject({ status: 405 });
    expect(await world.jobs.tell(job, 'results=1')).toMatchObject({
      status: 400,
      body: { field: 'body', detail: expect.stringContaining('results=1') },
    });
    expect(await world.jobs.tell(job, '[]')).toMatchObject({ status: 400, body: { field: 'body' } });
    expect(await world.jobs.tell(job, {})).toMatchObject({ status: 400, body: { field: 'results' } });
    expect(await world.jobs.tell(job, { status: 'lost' })).toMatchObject({ status: 400, body: { field: 'status' } });
    expect(await world.jobs.tell(job, `{"results":"${'x'.repeat(17_000_000)}"}`)).toMatchObject({
      status: 413,
      body: { field: 'body' },
    });
    const key = { secrets: [SECRET], installation: await readInstallation(world.database.pool) };
    const unknown = callbackUrl(`http://127.0.0.1:${port}`, key, { id: 999_999, createdUs: 1 }, 60_000);
    expect(await post(unknown, { body: '{"results":[]}' })).toMatchObject({ status: 404, body: { batch: 999_999 } });
    expect(await world.states(['shape-0'])).toEqual(['in-progress']);
    expect(await world.jobs.tell(job, { results: oks(['shape-0']) })).toMatchObject({ status: 200 });
  });
});

test('before the acceptance is written: it waits a little; for longer it says 409 and Retry-After, and nothing is lost [H7]', async () => {
  await world.submitTo('jobs', 'soon', 1);
  await eventually(async () => (await world.jobs.job('soon')).first?.status === 200);
  await world.submitTo('jobs', 'early', 1);
  const job = await eventually(async () => {
    const found = await world.jobs.job('early');
    return found.first === undefined ? null : found;
  });
  expect(job.first).toMatchObject({
    status: 409,
    retryAfter: '1',
    body: { type: 'urn:muster:problem:too-early', retryAfterMs: 1_000 },
  });
  const told = await eventually(async () => {
    const answer = await world.jobs.tell(job, { results: oks(job.ids) });
    return answer.status === 409 ? null : answer;
  });
  expect(told).toMatchObject({ status: 200, body: { state: 'succeeded' } });
  expect(await world.states(['soon-0', 'early-0'])).toEqual(['succeeded', 'succeeded']);
});

test('in a lane: committed, the next goes; repeated and late as without one [H7]', async () => {
  await world.submitTo('lane', 'po', 2);
  const first = await world.jobs.job('po');
  const results = oks(first.ids);
  expect(await world.jobs.tell(first, { results })).toMatchObject({
    status: 200,
    body: { state: 'succeeded', repeated: false },
  });
  expect(await world.jobs.tell(first, { results })).toMatchObject({ status: 200, body: { repeated: true } });
  await world.run('submit lane --file -', JSON.stringify({ id: 'po-next', payload: { to: 'po' } }));
  const second = await world.jobs.job('po', 2);
  expect(await world.jobs.tell(second, { results: [{ index: 0, status: 'failed', error: 'closed' }] })).toMatchObject({
    status: 200,
    body: { results: { failed: 1 } },
  });
  expect(await world.states(['po-0', 'po-next'])).toEqual(['succeeded', 'failed']);
});

/** Not before: the lock would hold the acceptance itself. */
const isAccepted = (to: string) =>
  eventually(async () => {
    const { rows } = await world.database.pool.query({
      text: 'select from batch b join target t on t.id = b.target_id where t.key = $1 and b.reference is not null',
      values: [to],
    });
    return rows.length > 0;
  });

/** Holds a batch's row, so that whoever would settle it waits. */
const hold = async (to: string): Promise<() => Promise<void>> => {
  const client = await world.database.pool.connect();
  await client.query('begin');
  await client.query({
    text: 'select from batch b join target t on t.id = b.target_id where t.key = $1 for update of b',
    values: [to],
  });
  return async () => {
    await client.query('rollback');
    client.release();
  };
};
const isWaiting = () =>
  eventually(async () => {
    const { rows } = await world.database.pool.query<{ n: number }>({
      text: `select count(*) as n from pg_stat_activity where wait_event_type = 'Lock' and query ~ 'update batch set attempt = attempt \\+ 1, read_at = clock\\(\\),\\s+poll_at'`,
    });
    return rows[0]!.n > 0;
  });

test('a worker killed between taking a callback and settling it: the sender gets no answer, sends it again, and it counts once [H7]', async () => {
  await world.submitTo('jobs', 'killed', 2);
  const job = await world.jobs.job('killed');
  await isAccepted('killed');
  const release = await hold('killed');
  const lost = world.jobs.tell(job, { results: oks(job.ids) });
  await isWaiting();
  worker.child.kill('SIGKILL');
  expect(await lost).toMatchObject({ status: 0 });
  await release();
  worker = await startWorker();
  const told = await eventually(async () => {
    const answer = await world.jobs.tell(job, { results: oks(job.ids) });
    return answer.status === 409 ? null : answer;
  });
  // The statement that waited may have been committed by the server after its client had died; the
  // attempt that it took is nobody's then.
  expect(told).toMatchObject({ status: 200, body: { state: 'succeeded', repeated: false } });
  expect(await world.states(job.ids)).toEqual(['succeeded', 'succeeded']);
});

test('SIGTERM: a callback under way is answered, a new one finds nobody, exit code 0 [Build 10]', async () => {
  await world.submitTo('jobs', 'drained', 1);
  const job = await world.jobs.job('drained');
  await isAccepted('drained');
  const release = await hold('drained');
  const told = world.jobs.tell(job, { results: oks(job.ids) });
  await isWaiting();
  worker.child.kill('SIGTERM');
  await worker.says(/draining/);
  await eventually(async () => (await fetch(job.callback, { method: 'POST', body: '{}' }).catch(() => null)) === null);
  await release();
  expect(await told).toMatchObject({ status: 200, body: { state: 'succeeded' } });
  expect(await worker.exit).toBe(0);
  expect((await world.run('verify')).code).toBe(0);
});
