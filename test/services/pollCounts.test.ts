import { localUrl } from '../../workers/metrics/pollWatch';
import type { PollCounts } from '../../workers/metrics/polls';
import { PollState, readPollCounts } from '../../workers/metrics/polls';
import { POLL_BROKEN_MS, POLL_HANGS_MS, POLL_REFUSED_MS } from '../../workflows/planning/liveness';

/** What a worker's polls come to, by the SDK's own counters. */

const counts = (some: Partial<PollCounts>): PollCounts => ({
  queue: 'q',
  kind: 'workflow',
  started: 0,
  returned: 0,
  answered: 0,
  tasksFailed: 0,
  tasksEnded: 0,
  ...some,
});

describe('by its counters a poll', () => {
  let state: PollState;
  beforeEach(() => {
    state = new PollState('q', 'workflow', 0);
    state.see(counts({ started: 2 }), 1_000);
  });

  test('that comes back without work after each minute is well, and so is a queue whose slots are all taken', () => {
    for (let minute = 1; minute <= 10; minute++) {
      expect(state.trouble(minute * 60_000 + 900)).toBeNull();
      state.see(counts({ started: 2 + minute, returned: minute, answered: minute }), minute * 60_000 + 1_000);
      expect(state.ageMs(minute * 60_000 + 2_000)).toBe(1_000);
    }
    state.see(counts({ started: 12, returned: 12, answered: 12 }), 700_000);
    expect([state.trouble(9_000_000), state.ageMs(9_000_000)]).toEqual([null, 0]);
    state.see(counts({ started: 13, returned: 12, answered: 12 }), 9_000_000); // a slot is free again
    expect([state.trouble(9_005_000), state.ageMs(9_005_000)]).toEqual([null, 5_000]);
  });

  test('that stays open for longer than a server keeps it hangs', () => {
    expect(state.trouble(1_000 + POLL_HANGS_MS - 1)).toBeNull();
    expect(state.trouble(1_000 + POLL_HANGS_MS)).toMatchObject({ sinceMs: 1_000, text: expect.stringMatching(/hang/) });
    // Its client gives it up after 70 s and begins another: that is no answer.
    state.see(counts({ started: 3, returned: 1 }), 71_000);
    expect(state.trouble(1_000 + POLL_HANGS_MS)).not.toBeNull();
  });

  test('that is cut off has a successor with a minute of its own, a few times', () => {
    state.see(counts({ started: 4, returned: 2 }), 46_000);
    expect(state.trouble(46_000 + POLL_HANGS_MS - 1)).toBeNull();
    expect(state.trouble(46_000 + POLL_HANGS_MS)).toMatchObject({
      sinceMs: 46_000,
      text: expect.stringMatching(/hang: none was answered for 120 s/),
    });
    // A way that cuts each after 45 s never brings an answer.
    for (let i = 2; i <= 20; i++) state.see(counts({ started: 2 + 2 * i, returned: 2 * i }), 1_000 + i * 45_000);
    expect(state.trouble(POLL_BROKEN_MS + POLL_HANGS_MS + 1_000)).not.toBeNull();
  });

  test('of several that hang is told, although they are given up in turns', () => {
    for (let i = 1; i <= 40; i++) state.see(counts({ started: 2 + i, returned: i }), 1_000 + i * 35_000);
    expect(state.trouble(POLL_BROKEN_MS + POLL_HANGS_MS + 1_000)).not.toBeNull();
  });

  describe('of a server that was stopped for two minutes', () => {
    // As read from a real worker, by seconds: stopped at 9, back at 129. Keepalives cut it off
    // twice; the third reaches the server when it is back, and its client's 70 s end before the
    // server's minute.
    const AWAY = [14, 19, 24, 29, 34, 39, 44, 49, 54, 59, 64, 69, 74, 79, 84, 89, 94, 99, 104, 109, 114, 119, 124];
    const see = (s: number, returned: number): void => {
      const awayAt = AWAY.filter((at) => at >= 19 && at <= s).at(-1);
      state.see(
        counts({ started: returned + 1, returned }),
        s * 1_000,
        awayAt === undefined ? undefined : awayAt * 1_000,
      );
    };
    beforeEach(() => {
      state = new PollState('q', 'activities', 0);
      for (let s = 1; s <= 169; s++) {
        see(s, s < 56 ? 0 : s < 101 ? 1 : s < 169 ? 2 : 3);
        expect(state.trouble(s * 1_000)).toBeNull();
      }
    });

    test('nothing is said while its successor has its time, and nothing after its answer', () => {
      for (let s = 170; s <= 229; s++) {
        see(s, 3);
        expect(state.trouble(s * 1_000)).toBeNull();
      }
      state.see(counts({ started: 5, returned: 4, answered: 1 }), 229_000, 124_000);
      expect(state.trouble(289_000)).toBeNull();
    });

    test('it is told to hang when it has had it', () => {
      see(239, 4); // given up once more
      expect(state.trouble(169_000 + POLL_HANGS_MS)).toMatchObject({ sinceMs: 169_000 });
    });
  });

  test('that is cut on its way while it waits is not refused: the next one is open', () => {
    for (let i = 1; i <= 20; i++) {
      state.see(counts({ started: 2 + i, returned: i, answered: Math.floor(i / 2) }), i * 30_000);
      expect(state.trouble(i * 30_000 + 29_000)).toBeNull();
    }
  });

  test('that was given up after an outage, read before the next one is open, is not refused', () => {
    state.see(counts({ started: 2, returned: 1 }), 45_000); // cut off
    state.see(counts({ started: 2, returned: 2 }), 111_000);
    expect(state.trouble(111_000)).toBeNull();
    state.see(counts({ started: 3, returned: 2 }), 112_000);
    expect(state.trouble(112_000)).toBeNull();
    state.see(counts({ started: 3, returned: 3 }), 115_000);
    state.see(counts({ started: 3, returned: 3 }), 121_000);
    expect(state.trouble(121_000)).toMatchObject({ text: expect.stringMatching(/refused/) });
  });

  test('that comes back at once and unanswered, again and again, is refused, until one is answered', () => {
    for (let i = 1; i <= 12; i++) state.see(counts({ started: 2 + i, returned: 2 + i }), 10_000 + i * 5_000);
    expect(state.trouble(15_000 + POLL_REFUSED_MS - 1)).toBeNull();
    expect(state.trouble(15_000 + POLL_REFUSED_MS)).toMatchObject({
      sinceMs: 15_000,
      text: expect.stringMatching(/refused/),
    });
    state.see(counts({ started: 16, returned: 15, answered: 1 }), 71_000);
    expect(state.trouble(71_000)).toBeNull();
  });

  test('brings only workflow tasks that fail: told while they do, not after one that went well', () => {
    const see = (failed: number, ended: number, at: number): void =>
      state.see(counts({ started: 9, returned: 8, answered: at, tasksFailed: failed, tasksEnded: ended }), at);
    see(1, 0, 10_000);
    see(2, 1, 25_000); // the first of a task is reported, and ends it
    see(3, 1, 45_000);
    expect(state.trouble(45_000)).toMatchObject({
      sinceMs: 10_000,
      text: expect.stringMatching(/every workflow task/),
    });
    see(3, 2, 46_000);
    expect(state.trouble(46_000)).toBeNull();
    see(4, 2, 50_000);
    see(4, 2, 300_000); // begun anew elsewhere, and nothing came since
    expect(state.trouble(300_000)).toBeNull();
  });
});

test('the counters of the SDK are read by queue and kind, the sticky queue with its own', () => {
  const text = [
    'temporal_long_request_total{namespace="default",operation="PollWorkflowTaskQueue",service_name="s",task_queue="q"} 3',
    'temporal_long_request_latency_seconds_count{namespace="default",operation="PollWorkflowTaskQueue",task_queue="q"} 2',
    'temporal_workflow_task_queue_poll_empty_total{namespace="default",task_queue="q"} 1',
    'temporal_workflow_task_queue_poll_succeed_total{namespace="default",task_queue="q",workflow_type="leader"} 1',
    'temporal_long_request_total{operation="PollActivityTaskQueue",task_queue="q/handler/x"} 1',
    'temporal_request_total{operation="RespondWorkflowTaskCompleted"} 9',
    'temporal_workflow_task_execution_failed_total{failure_reason="WorkflowError",task_queue="q"} 2',
  ].join('\n');
  expect(readPollCounts(text)).toEqual([
    counts({ started: 3, returned: 2, answered: 2, tasksFailed: 2 }),
    counts({ queue: 'q/handler/x', kind: 'activities', started: 1 }),
  ]);
});

test('an address that is listened on everywhere is read on this machine', () => {
  expect(['0.0.0.0:9464', '[::]:9464', '10.1.2.3:9464'].map(localUrl)).toEqual([
    'http://127.0.0.1:9464/metrics',
    'http://[::1]:9464/metrics',
    'http://10.1.2.3:9464/metrics',
  ]);
});
