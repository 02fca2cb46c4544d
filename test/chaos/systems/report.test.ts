import type { Balance } from '../../liveness/balance';
import type { ExecutionAccounts } from './executions';
import { judgeExecutions } from './executions';
import type { FanoutAccounts } from './fanouts';
import { longestStalled } from '../../liveness/judge/longest';
import { judgeFanouts } from './fanouts';
import { FAULTS } from './faults';
import { FAULT_KINDS } from './plan';
import type { Found, StruckFault } from './report';
import { outcomeOf } from './report';

/** A judge that finds nothing proves nothing: each fault is planted once. */

const fault = (more: Partial<StruckFault> = {}): StruckFault => ({
  kind: 'kill',
  forMs: 100,
  times: 4,
  struck: 4,
  fromMs: 0,
  toMs: 400,
  settledMs: 6_000,
  recoveredMs: 200,
  againMs: { plain: 100, lane: 300 },
  failure: null,
  ...more,
});
const BALANCE: Balance = {
  accepted: 10,
  succeeded: 10,
  lost: 0,
  stuck: 0,
  failed: 0,
  doubled: 0,
  disordered: 0,
  untold: 0,
  findings: [],
};
const sound = (): Found =>
  ({
    seed: 1,
    withinMs: 30_000,
    seconds: 60,
    struck: [fault(), fault({ kind: 'stop', struck: 1, recoveredMs: 900 }), fault({ recoveredMs: 4_000 })],
    truth: { findings: [] },
    longest: { kind: 'leader', name: '2', ms: 120_000 },
    unanswered: {},
    balance: BALANCE,
    findings: [],
    fanouts: 3,
    executions: 2,
    items: 50,
    verification: { ok: true, checks: [] },
    failedRuns: [],
    deaths: 0,
    failedStarts: 1,
  }) as unknown as Found;

test('a run in which nothing is wrong passes, with its figures by kind of fault', () => {
  expect(outcomeOf(sound())).toMatchObject({
    passed: true,
    faults: 3,
    killsAndStops: 9,
    failures: [],
    kinds: {
      kill: { faults: 2, struck: 8, medianRecoveredMs: 4_000, mostRecoveredMs: 4_000, mostAgainMs: 300 },
      stop: { faults: 1, struck: 1, medianRecoveredMs: 900, mostRecoveredMs: 900, mostAgainMs: 300 },
    },
  });
});

test.each<[string, Partial<Found>, string]>([
  ['late recovery', { struck: [fault({ recoveredMs: 30_001 })] }, 'fault 1, kill: recovered after 30001 ms'],
  ['no recovery', { struck: [fault({ recoveredMs: null })] }, 'recovered not at all'],
  ['a kind of work that stands', { struck: [fault({ againMs: { lane: null } })] }, 'lane went on not at all'],
  ['a fault that could not be made', { struck: [fault({ failure: 'no server' })] }, 'could not be made: no server'],
  ['a lost task', { balance: { ...BALANCE, lost: 1 } }, '1 lost'],
  ['a doubled task', { balance: { ...BALANCE, doubled: 1 } }, '1 doubled'],
  ['a task out of order', { balance: { ...BALANCE, disordered: 1 } }, '1 disordered'],
  ['a task that is stuck', { balance: { ...BALANCE, stuck: 1 } }, '1 stuck'],
  ['an end that was not reported', { balance: { ...BALANCE, untold: 1 } }, '1 untold'],
  ['a finding of fan-outs or executions', { findings: ['lost: fan-out a'] }, 'lost: fan-out a'],
  ['a store that is not whole', { verification: { ok: false, checks: [] } as never }, 'verify: violated'],
  ['a run that failed', { failedRuns: ['leader x: a bug'] }, 'a run failed: leader x: a bug'],
  [
    'a leader that stands for minutes, beside others that go on',
    { longest: { kind: 'leader', name: '2', ms: 301_000 } },
    'leader 2 had stalled for 301 s',
  ],
  ['a worker that ended by itself', { deaths: 1 }, '1 workers ended by themselves'],
  [
    'a stand that was called healthy',
    { truth: { findings: [{ rule: 'silence', text: 'lane stood', fault: 'kill' }] } as never },
    'silence (kill): lane stood',
  ],
])('a run with %s fails, and says so', (_, found, text) => {
  const { passed, failures } = outcomeOf({ ...sound(), ...found });
  expect(passed).toBe(false);
  expect(failures.join('\n')).toContain(text);
});

test('what was named as stalled for the longest is told, of all kinds of work and rounds', () => {
  const round = (...said: (string | undefined)[]) => ({
    seen: Object.fromEntries(said.map((status, i) => [i, { naming: status === undefined ? {} : { status } }])) as never,
  });
  const stalled = (name: string, ms: number): string => JSON.stringify({ kind: 'leader', name, ms, runId: 'r' });
  const rounds = [
    round(undefined, stalled('1', 61_000)),
    round(stalled('2', 90_000), stalled('1', 64_000)),
    round('partitions: 3 of 4 held', stalled('3', 70_000)),
  ];
  expect(longestStalled(rounds)).toEqual({ kind: 'leader', name: '2', ms: 90_000 });
  expect(longestStalled([round(undefined)])).toBeNull();
});

const fanouts = (): FanoutAccounts => ({
  opened: new Map([['a', 5]]),
  told: new Map([['a', new Set(['m1'])]]),
  stored: [{ id: 'a', state: 'complete', items: 5, open: 0 }],
  found: [],
});
test.each<[string, Partial<FanoutAccounts>, string]>([
  ['is not in the store', { stored: [] }, 'lost: fan-out a is not in the store'],
  ['is not complete', { stored: [{ id: 'a', state: 'sealed', items: 5, open: 1 }] }, 'fan-out a of 5 items is sealed'],
  ['has other items', { stored: [{ id: 'a', state: 'complete', items: 4, open: 0 }] }, 'with 4 items'],
  ['had no message', { told: new Map() }, 'had 0 messages'],
  ['had two messages', { told: new Map([['a', new Set(['m1', 'm2'])]]) }, 'had 2 messages'],
  ['had a message that was wrong', { found: ['the message of fan-out a spoke of 4 items'] }, 'spoke of 4 items'],
])('a fan-out that %s is found', (_, more, text) => {
  expect(judgeFanouts(fanouts())).toEqual([]);
  expect(judgeFanouts({ ...fanouts(), ...more }).join('\n')).toContain(text);
});

const executions = (): ExecutionAccounts => ({
  started: new Map([['e', 2]]),
  runs: new Map([
    ['e 0', 1],
    ['e 1', 2],
  ]),
  stored: [
    {
      id: 'e',
      state: 'done',
      items: [
        { position: 0, state: 'done', stdout: '0' },
        { position: 1, state: 'done', stdout: '1' },
      ],
    },
  ],
});
const stored = (change: (one: ExecutionAccounts['stored'][number]) => object): Partial<ExecutionAccounts> => ({
  stored: executions().stored.map((one) => ({ ...one, ...change(one) })),
});
test.each<[string, Partial<ExecutionAccounts>, string]>([
  ['is not in the store', { stored: [] }, 'lost: execution e is not in the store'],
  ['is not done', stored(() => ({ state: 'in-progress' })), 'execution e of 2 items is in-progress'],
  ['lacks an item', stored(({ items }) => ({ items: items.slice(1) })), 'with 1 items'],
  [
    'has an item that failed',
    stored(({ items }) => ({ items: [{ ...items[0]!, state: 'failed' }, items[1]!] })),
    'is failed',
  ],
  [
    'has the result of another item',
    stored(({ items }) => ({ items: [{ ...items[0]!, stdout: '1' }, items[1]!] })),
    'its result is 1',
  ],
  ['has an item that never ran', { runs: new Map([['e 0', 1]]) }, 'item 1 of execution e is done and never ran'],
])('an execution that %s is found', (_, more, text) => {
  expect(judgeExecutions(executions())).toEqual([]);
  expect(judgeExecutions({ ...executions(), ...more }).join('\n')).toContain(text);
});

test('after a deleted namespace work goes on within the time of all other faults', () => {
  const after = (recoveredMs: number) =>
    outcomeOf({ ...sound(), struck: [fault({ kind: 'namespace-deleted', recoveredMs })] }).failures;
  expect(after(30_000)).toEqual([]);
  expect(after(30_001)).toEqual(['fault 1, namespace-deleted: recovered after 30001 ms, expected within 30000 ms']);
});

test('each kind of fault can be made', () => {
  expect(Object.keys(FAULTS).sort()).toEqual([...FAULT_KINDS].sort());
});
