import { WorkflowNotFoundError } from '@temporalio/client';
import { HaltError, LaterError } from '../../../handlers';
import type { ItemResult } from '../../../handlers';
import { monitorWorkflowId } from '../../../workflows/naming';
import { eventually } from '../../helpers/eventually';
import {
  accept,
  accepted,
  all,
  asked,
  become,
  behave,
  errorOf,
  muster,
  oks,
  pausedTargets,
  query,
  referencesOf,
  script,
  startAccepting,
  states,
  stopAccepting,
  succeededOf,
} from './accepting';
import type { Accepted } from './accepting';

/** @slow */

beforeAll(startAccepting);
afterAll(stopAccepting);
afterEach(behave);

describe('what the downstream says of an accepted batch [H7]', () => {
  test('pending: in progress, asked again; done: the results are kept, one attempt', async () => {
    const reference = await accept('plain', 'done');
    const before = asked.length;
    await eventually(() => asked.slice(before).filter((references) => references.includes(reference)).length >= 2);
    expect(await states('done')).toEqual(all('done', 'in-progress 0'));
    accepted.get(reference)!.status = 'done';
    await become('done', all('done', 'succeeded 1'));
    const task = await muster().client.getTask('done-1');
    expect(task).toMatchObject({ state: 'succeeded', result: 'done done-1' });
  });

  test('results that could not be read for hours, tens of thousands of times, keep no other batch from its end', async () => {
    const sick = await accept('plain', 'sick');
    const well = await accept('plain', 'well');
    await query('update batch set attempt = 32766 where reference = $1', [sick]);
    Object.assign(accepted.get(sick)!, {
      status: 'done',
      results: () => {
        throw new Error('the file is not there');
      },
    });
    const readings = async (): Promise<number> =>
      (await query<{ attempt: number }>('select attempt from batch where reference = $1', [sick]))[0]!.attempt;
    await eventually(async () => (await readings()) > 32_768, { timeoutMs: 30_000 });
    accepted.get(well)!.status = 'done';
    await become('well', all('well', 'succeeded 1'));
    Object.assign(accepted.get(sick)!, { status: 'pending', error: 'queued there again' });
    await eventually(async () => (await errorOf('sick'))?.includes('queued there again'));
    accepted.get(sick)!.status = 'done';
    delete accepted.get(sick)!.results;
    await become('sick', all('sick', 'succeeded 1'));
  });

  test('many are asked for in one call', async () => {
    await muster().client.submit(
      'plain',
      Array.from({ length: 40 }, (_, i) => ({ id: `many-${i}`, payload: { to: `many${i}` } })),
    );
    await eventually(() => [...accepted.keys()].filter((reference) => reference.startsWith('many')).length === 40);
    await eventually(() =>
      asked.some((references) => references.filter((reference) => reference.startsWith('many')).length >= 30),
    );
    for (const [reference, one] of accepted) if (reference.startsWith('many')) one.status = 'done';
    await eventually(async () => (await succeededOf('^many-')) === 40);
    expect(Math.max(...asked.map((references) => references.length))).toBeLessThanOrEqual(100);
  });

  test('expired: the part that is done is kept, the rest is tried again in a fresh batch', async () => {
    const reference = await accept('plain', 'expired');
    Object.assign(accepted.get(reference)!, {
      status: 'expired',
      results: () => [
        { id: 'expired-0', status: 'ok' },
        { id: 'expired-2', status: 'failed', error: 'no' },
      ],
    });
    const again = await eventually(() => referencesOf('expired')[1]);
    expect(accepted.get(again)!.ids).toEqual(['expired-1']);
    accepted.get(again)!.status = 'done';
    await become('expired', { 'expired-0': 'succeeded 1', 'expired-1': 'succeeded 2', 'expired-2': 'failed 1' });
  });

  test('failed: refused for its content, so halved until the poison task is alone', async () => {
    const decide = (): void => {
      for (const reference of referencesOf('poison')) {
        const one = accepted.get(reference)!;
        Object.assign(
          one,
          one.ids.includes('poison-2') ? { status: 'failed', error: 'line 1: bad' } : { status: 'done' },
        );
      }
    };
    await accept('plain', 'poison', 8);
    const timer = setInterval(decide, 50);
    try {
      await become('poison', {
        ...all('poison', 'succeeded 2', 8),
        'poison-0': 'succeeded 3',
        'poison-1': 'succeeded 3',
        'poison-2': 'failed 4',
        'poison-3': 'succeeded 4',
      });
    } finally {
      clearInterval(timer);
    }
    expect((await muster().client.getTask('poison-2'))!.error).toContain('line 1: bad');
  });

  test('lost, and nothing to look it up with: parked without idempotency, sent again under the same key with it', async () => {
    accepted.get(await accept('plain', 'lost'))!.status = 'lost';
    await become('lost', all('lost', 'unknown 1'));
    expect(await errorOf('lost')).toContain('does not know lost/1');
    const first = await accept('by-batch', 'lost-keyed');
    accepted.get(first)!.status = 'lost';
    const again = await eventually(() => referencesOf('lost-keyed')[1]);
    expect(accepted.get(again)!).toMatchObject({ key: accepted.get(first)!.key, ids: accepted.get(first)!.ids });
    accepted.get(again)!.status = 'done';
    await become('lost-keyed', all('lost-keyed', 'succeeded 2'));
  });

  test('lost and looked up: absent is sent again, found under another reference is followed, done is settled', async () => {
    script.reconciled = (batch) =>
      batch.target === 'absent'
        ? { status: 'absent' }
        : batch.target === 'moved'
          ? { status: 'accepted', reference: 'moved/9' }
          : { status: 'done', results: oks(batch.tasks.map((task) => task.id)) };
    for (const target of ['absent', 'moved', 'known']) accepted.get(await accept('finder', target))!.status = 'lost';
    accepted.get(await eventually(() => referencesOf('absent')[1]))!.status = 'done';
    await become('absent', all('absent', 'succeeded 2'));
    await become('known', all('known', 'succeeded 1'));
    await eventually(
      async () =>
        (
          await query<{ reference: string }>(
            `select reference from batch b join target t on t.id = b.target_id where t.key = 'moved'`,
          )
        )[0]!.reference === 'moved/9',
    );
    accepted.set('moved/9', { ids: ['moved-0', 'moved-1', 'moved-2'], key: '', status: 'done' });
    await become('moved', all('moved', 'succeeded 1'));
  });

  test('a missing result is unknown; a result for a stranger makes the batch unknown, with the evidence', async () => {
    const missing = await accept('plain', 'missing');
    Object.assign(accepted.get(missing)!, { status: 'done', results: () => oks(['missing-0', 'missing-2']) });
    await become('missing', { 'missing-0': 'succeeded 1', 'missing-1': 'unknown 1', 'missing-2': 'succeeded 1' });
    const stranger = await accept('plain', 'stranger');
    Object.assign(accepted.get(stranger)!, { status: 'done', results: () => oks(['stranger-0', 'who?']) });
    await become('stranger', all('stranger', 'unknown 1'));
    expect(await errorOf('stranger')).toContain('who?');
  });

  test('results that break off are read again from the start', async () => {
    const reference = await accept('plain', 'broken');
    let reads = 0;
    const results = async function* (): AsyncGenerator<ItemResult> {
      reads++;
      yield* oks(['broken-2']);
      if (reads === 1) throw new Error('connection lost');
      yield* oks(['broken-0', 'broken-1']);
    };
    Object.assign(accepted.get(reference)!, { status: 'done', results });
    await become('broken', all('broken', 'succeeded 1'));
    expect(reads).toBe(2);
  });
});

describe('the deadline [H7]', () => {
  test('past it the batch is asked about once more, then parked', async () => {
    await accept('hasty', 'slow');
    await become('slow', all('slow', 'unknown 1'));
    expect(await errorOf('slow')).toContain('pending at its deadline');
  });

  test('a question that is not answered is no answer: nothing is parked for it at once', async () => {
    script.interrupt = () => {
      throw new Error('socket hang up');
    };
    const reference = await accept('hasty', 'unanswered');
    await eventually(
      async () =>
        (
          await query<{ over: boolean }>(
            `select poll_until < clock() - interval '500 ms' as over from batch where reference = $1`,
            [reference],
          )
        )[0]!.over,
    );
    expect(await states('unanswered')).toEqual(all('unanswered', 'in-progress 0'));
    expect(await errorOf('unanswered')).toContain('socket hang up');
    accepted.get(reference)!.status = 'done';
    script.interrupt = null;
    await become('unanswered', all('unanswered', 'succeeded 1'));
  });
});

test('a status call that must wait, and one that is refused: later again; the second pauses the handler, whose reason it is', async () => {
  const reference = await accept('plain', 'waits');
  script.interrupt = () => {
    throw new LaterError('slow down', { retryAfterMs: 300 });
  };
  await eventually(async () => (await errorOf('waits'))?.includes('slow down'));
  script.interrupt = () => {
    throw new HaltError('401: key expired');
  };
  await eventually(
    async () =>
      (await query<{ reason: string }>(`select pause_reason as reason from handler where name = 'plain'`))[0]!
        .reason === '401: key expired',
  );
  script.interrupt = null;
  accepted.get(reference)!.status = 'done';
  await become('waits', all('waits', 'succeeded 1')); // what is in flight goes on under a pause
  await muster().client.resume('plain');
});

test('a status call that halts one target: asked about together with others, that one alone is paused, and they go on', async () => {
  const locked = await accept('plain', 'locked');
  const free = ['free1', 'free2'];
  const references = await Promise.all(free.map((target) => accept('plain', target)));
  script.interrupt = (question) => {
    if (question.includes(locked)) throw new HaltError('no key for this one', { scope: 'target' });
  };
  await eventually(async () => (await pausedTargets('plain')).length > 0);
  for (const reference of references) accepted.get(reference)!.status = 'done';
  for (const target of free) await become(target, all(target, 'succeeded 1'));
  expect(await pausedTargets('plain')).toEqual([{ key: 'locked', reason: 'no key for this one' }]);
  expect(await query(`select from handler where name = 'plain' and paused_at is not null`)).toEqual([]);
  expect(await errorOf('locked')).toMatch(/no key for this one/);
  await muster().client.pause('plain', { target: 'locked', reason: 'by hand' });
  const before = asked.length;
  await eventually(() => asked.slice(before).filter((question) => question.includes(locked)).length > 2);
  expect(await pausedTargets('plain')).toEqual([{ key: 'locked', reason: 'by hand' }]);
  script.interrupt = null;
  accepted.get(locked)!.status = 'done';
  await become('locked', all('locked', 'succeeded 1')); // what is in flight goes on under a pause
  await muster().client.resume('plain', { target: 'locked' });
});

test('weight in flight is free when an accepted batch ends, for other leaders too [H6]', async () => {
  const targets = ['h1', 'h2', 'h3', 'h4', 'h5', 'h6'];
  await muster().client.submit(
    'heavy',
    targets.map((to) => ({ id: `${to}-0`, payload: { to } })),
  );
  const open = (): Accepted[] => [...accepted].filter(([reference]) => /^h\d\//.test(reference)).map(([, one]) => one);
  for (let done = 0; done < 6; done += 2) {
    await eventually(() => open().length === done + 2, { timeoutMs: 8_000 }); // well below the 10 s of a blocked leader's own look
    expect(open().length).toBe(done + 2);
    for (const one of open()) one.status = 'done';
  }
  await eventually(async () => (await succeededOf('^h\\d-0$')) === 6);
});

test('a monitor that was terminated is started again by the sweeper', async () => {
  const reference = await accept('plain', 'terminated');
  const handle = (await muster().client.temporal()).workflow.getHandle(monitorWorkflowId(muster().prefix, 'plain'));
  // The run before may just have ended, and the next one not have begun.
  await eventually(() =>
    handle.terminate('operator').then(
      () => true,
      (error: unknown) => {
        if (error instanceof WorkflowNotFoundError) return false;
        throw error;
      },
    ),
  );
  accepted.get(reference)!.status = 'done';
  await become('terminated', all('terminated', 'succeeded 1'));
  expect(muster().node.sweepCounts.monitorWakes).toBeGreaterThan(0);
});

test('with nothing accepted any more the monitor has ended', async () => {
  for (const one of accepted.values()) one.status = 'done';
  const handle = (await muster().client.temporal()).workflow.getHandle(monitorWorkflowId(muster().prefix, 'by-batch'));
  await eventually(async () => (await handle.describe()).status.name === 'COMPLETED');
});
