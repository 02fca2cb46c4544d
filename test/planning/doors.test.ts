import type { Call, Settled, Home, HomeRules } from '../../activities/calls/call';
import { decide } from '../../activities/calls/decide';
import type { CallEnd, Decision, Half, LookUps } from '../../activities/calls/door';
import { NO_LOOK_UPS } from '../../activities/calls/door';
import { QUEUE_RULES } from '../../activities/calls/queueRules';
import { settle } from '../../activities/calls/settle';
import { LANE_RULES } from '../../activities/lanes/rules';
import { defineHandler } from '../../handlers';
import type { CarriedBatch } from '../../postgres/calls/batch';
import type { MemberTask } from '../../postgres/calls/members';
import type { Deviant } from '../../workflows/planning/calls/plans';
import { BATCH_STATES } from '../../workflows/planning/states';

/**
 * By which door of its home each outcome is written, and as what: `settle` on rules that are
 * the product's and doors that only note who came.
 */

interface Facts {
  batch?: Partial<CarriedBatch>;
  call?: Partial<Call>;
  handler?: Partial<Parameters<typeof defineHandler>[0]>;
  members?: number;
  known?: LookUps;
  half?: Half;
  cancelled?: boolean;
}

type Taken =
  | ['share', CallEnd['kind']]
  | ['lookAgain', { inMs: number; counts: boolean; error: string }]
  /** `recovers`: written, it gives back what back pressure took. */
  | ['conclude', Decision, 'recovers'?];

const doorTaken = async (rules: HomeRules, outcome: CallEnd, facts: Facts): Promise<Taken[]> => {
  const taken: Taken[] = [];
  const note = (door: Taken): Promise<Settled> => {
    taken.push(door);
    return Promise.resolve({ written: true } as Settled);
  };
  const home = {
    rules,
    sealer: null,
    hooks: undefined,
    outcomes: undefined,
    recall: () => Promise.resolve(facts.known ?? NO_LOOK_UPS),
    share: (_call, { kind }) => note(['share', kind]),
    lookAgain: (_call, look) => note(['lookAgain', look]),
    conclude: (call, door) => {
      const sibling = rules.siblingOf(call.batch, facts.half ?? null);
      const decision = decide(call, door, sibling, facts.cancelled ?? false);
      return note(door.recovers ? ['conclude', decision, 'recovers'] : ['conclude', decision]);
    },
  } satisfies Partial<Home> as unknown as Home;
  const fresh = { id: 1, depth: 0, refusals: 0, unsure: false, reduced: false };
  const members = Array.from({ length: facts.members ?? 3 }, (_, seq) => ({ seq, attempts: 0 }) as MemberTask);
  await settle(
    {
      batch: { ...fresh, ...facts.batch } as CarriedBatch,
      dependsOn: [],
      handler: defineHandler({
        name: 'orders',
        target: () => 'one',
        limits: { maxItems: 10 },
        linger: { lingerMs: 0 },
        submit: () => Promise.resolve({ results: [] }),
        ...facts.handler,
      }),
      home,
      members,
      attempt: 1,
      firstCallAtMs: performance.now(),
      calledAtMs: performance.now(),
      fence: null,
      pages: undefined as never,
      absent: false,
      ...facts.call,
    },
    outcome,
  );
  return taken;
};

const results = (...deviants: Deviant[]): CallEnd => ({ kind: 'results', deviants });
const accepted: CallEnd = { kind: 'accepted', reference: 'r' };
const later = (scope: 'target' | 'handler', retryAfterMs: number): CallEnd => ({
  kind: 'later',
  scope,
  retryAfterMs,
  error: '429',
});
const rejected: CallEnd = { kind: 'rejected', error: '422' };
const lost: CallEnd = { kind: 'unknown', error: 'timeout' };

const told = { completion: { digest: 'd', results: null } } as Partial<Call>;
const half = (facts: Partial<Half> = {}): Half => ({
  id: 2,
  attempt: 1,
  state: BATCH_STATES.open,
  refused: false,
  leads: true,
  ...facts,
});
const reconcile = { reconcile: () => Promise.resolve({ status: 'absent' as const }) };

const done: Decision = { kind: 'finish', state: 'succeeded', ends: [], unknown: 'park' };
const wait = { kind: 'wait', error: '429' } as const;
const split: Decision = { kind: 'split', at: 2, error: '422' };
const refusedBoth = { kind: 'halt', reason: 'both halves of the first split were refused: 422' } as const;
const halted = { kind: 'halt', reason: '401' } as const;
const resend = { kind: 'resend', inMs: 1_000, error: 'timeout' } as const;
const parked = (error: string): Taken => ['conclude', { kind: 'park', error }];
const cancelled = (error: string): Decision => ({
  kind: 'finish',
  state: 'failed',
  error,
  ends: [0, 1, 2].map((index) => ({ index, to: 'cancelled', error })),
  unknown: 'park',
});
const NEITHER =
  'unknown: it may have been applied; the handler can neither look it up nor send it again safely (timeout)';
const UNSURE =
  'unknown: 5 look-ups did not establish whether it was applied, and sending it again might apply it twice (reset)';
const tooEarly: Taken = ['lookAgain', { inMs: 300, counts: false, error: 'looked up too early to be conclusive' }];

const ROWS: [string, CallEnd, Facts, queue: Taken, lane: Taken][] = [
  ['applied', results(), {}, ['share', 'results'], ['share', 'results']],
  ['applied, told from outside', results(), { call: told }, ['conclude', done], ['conclude', done]],
  [
    'applied, a first half',
    results(),
    { batch: { depth: 1 } },
    ['conclude', done, 'recovers'],
    ['conclude', done, 'recovers'],
  ],
  ['applied, a later half', results(), { batch: { depth: 2 } }, ['share', 'results'], ['conclude', done, 'recovers']],
  [
    'applied, tasks with keys',
    results(),
    { handler: { distinctBy: () => 'key' } },
    ['share', 'results'],
    ['conclude', done, 'recovers'],
  ],
  ['accepted', accepted, {}, ['conclude', { kind: 'accept', reference: 'r' }], ['share', 'accepted']],
  [
    'accepted, past a deadline',
    accepted,
    { call: { overdue: true } },
    ['conclude', { kind: 'accept', reference: 'r' }],
    ['conclude', { kind: 'accept', reference: 'r' }],
  ],
  [
    'one task failed',
    results({ index: 1, status: 'failed', error: 'zip' }),
    {},
    ['conclude', { ...done, ends: [{ index: 1, to: 'failed', error: 'zip' }] }],
    ['conclude', { ...done, ends: [{ index: 1, to: 'failed', error: 'zip' }] }],
  ],
  [
    'refused for a moment',
    later('target', 100),
    {},
    ['conclude', { ...wait, inMs: 100, hold: 'target', inPlace: true, keep: true }],
    ['conclude', { ...wait, inMs: 250, hold: 'lane', inPlace: false, keep: false }],
  ],
  [
    'refused for long, by the service',
    later('handler', 7_000),
    {},
    ['conclude', { ...wait, inMs: 7_000, hold: 'handler', inPlace: false, keep: false }],
    ['conclude', { ...wait, inMs: 7_000, hold: 'handler', inPlace: false, keep: false }],
  ],
  ['refused for its content', rejected, {}, ['conclude', split], ['conclude', split]],
  [
    'refused for its content, a first half whose other is open',
    rejected,
    { batch: { depth: 1 }, half: half(), members: 1 },
    ['conclude', { kind: 'await-sibling', error: '422' }],
    ['conclude', { kind: 'await-sibling', error: '422' }],
  ],
  [
    'refused for its content, both tasks that tell, at depth 2',
    rejected,
    { batch: { depth: 2 }, half: half({ refused: true }), members: 1 },
    ['conclude', { kind: 'finish', state: 'failed', error: '422', ends: [], unknown: 'park' }],
    ['conclude', { ...refusedBoth, dissolves: false }],
  ],
  [
    'refused for its content, as its other half was',
    rejected,
    { batch: { depth: 1 }, half: half({ refused: true }), members: 1 },
    ['conclude', { ...refusedBoth, dissolves: true }],
    ['conclude', { ...refusedBoth, dissolves: false }],
  ],
  [
    'no credential',
    { kind: 'halted', error: '401' },
    {},
    ['conclude', { ...halted, dissolves: true }],
    ['conclude', { ...halted, dissolves: false }],
  ],
  [
    'no credential, after a call of unknown outcome',
    { kind: 'halted', error: '401' },
    { batch: { unsure: true } },
    ['conclude', { ...halted, dissolves: false }],
    ['conclude', { ...halted, dissolves: false }],
  ],
  [
    'lost, safe to send again',
    lost,
    { handler: { idempotency: { by: 'task' } } },
    ['conclude', { ...resend, keep: true }],
    ['conclude', { ...resend, keep: false }],
  ],
  ['lost, not safe', lost, {}, parked('timeout'), parked(NEITHER)],
  ['lost, once parked by its deadline', lost, { call: { park: 'pending' } }, parked('timeout'), parked('pending')],
  [
    'lost, the look-up unsure',
    lost,
    { handler: reconcile },
    parked('timeout'),
    ['lookAgain', { inMs: 2_000, counts: true, error: 'timeout' }],
  ],
  [
    'lost, the look-up unsure for the fifth time',
    lost,
    { handler: reconcile, known: { lookUps: 4, error: 'reset' } },
    parked('timeout'),
    parked(UNSURE),
  ],
  [
    'lost, not there',
    lost,
    { handler: reconcile, call: { absent: true } },
    ['conclude', { ...resend, keep: true }],
    ['conclude', { ...resend, keep: false }],
  ],
  [
    'lost, not there, cancelled',
    lost,
    { handler: reconcile, call: { absent: true }, cancelled: true },
    ['conclude', cancelled('timeout')],
    ['conclude', cancelled('timeout')],
  ],
  ['looked up too early', { kind: 'look-again', inMs: 300 }, {}, tooEarly, tooEarly],
];

test.each(ROWS)('%s: its door in a queue and in a lane', async (_, outcome, facts, queue, lane) => {
  expect(await doorTaken(QUEUE_RULES, outcome, facts)).toEqual([queue]);
  expect(await doorTaken(LANE_RULES, outcome, facts)).toEqual([lane]);
});
