import { decideNext } from '../../workflows/planning/grouping/next';
import { IDLE_LOOK_MS, NOTIFIER_RUN } from '../../workflows/planning/looks';

const leader = { paused: false, handlerHoldMs: null, nowMs: 1_000 };
const nothing = { plan: null, slotsLeft: true };
const plan = (changes: object = {}): Parameters<typeof decideNext>[1]['plan'] => ({
  cut: [],
  take: [],
  pacedUntilMs: null,
  weightBlocked: false,
  ...changes,
});

describe('what a leader does after a turn', () => {
  const cases: [string, Parameters<typeof decideNext>, object][] = [
    ['nothing due, nothing in flight: idle', [leader, nothing, null, 0, true], { state: 'idle', inMs: 0 }],
    [
      'nothing due, a dispatch in flight: waits without a timer to pay for',
      [leader, nothing, null, 1, true],
      { state: 'waiting', inMs: IDLE_LOOK_MS, timer: false, blocked: false },
    ],
    [
      'due later: waits till then, with a timer',
      [leader, nothing, 3_500, 0, true],
      { state: 'waiting', inMs: 2_500, timer: true, blocked: false },
    ],
    [
      'due within a millisecond: waits exactly till then',
      [leader, nothing, 1_000.25, 0, true],
      { state: 'waiting', inMs: 0.25, timer: true, again: false },
    ],
    [
      'due in a month: looks once a day',
      [leader, nothing, 1_000 + 30 * 86_400_000, 0, true],
      { state: 'waiting', inMs: 86_400_000 },
    ],
    [
      'paused: idle, whatever is due',
      [{ ...leader, paused: true }, nothing, 500, 0, true],
      { state: 'idle', heldBy: 'paused' },
    ],
    [
      'the handler is held: waits for the later of hold and due',
      [{ ...leader, handlerHoldMs: 8_000 }, nothing, 500, 0, true],
      { state: 'waiting', inMs: 7_000, blocked: false, heldBy: 'hold' },
    ],
    [
      'more is due and slots are left: again',
      [leader, { plan: plan({ take: [1] }), slotsLeft: true }, 900, 1, true],
      { state: 'working', again: true },
    ],
    [
      'due, looked, nothing to cut: never spins',
      [leader, { plan: plan(), slotsLeft: true }, 900, 0, true],
      { state: 'waiting', inMs: 1_000, again: false, blocked: false },
    ],
    [
      'due, no slot, own calls in flight: their end brings it back',
      [leader, { plan: null, slotsLeft: false }, 900, 2, true],
      { state: 'working', again: false, wantsSlots: false },
    ],
    [
      'due, no slot, others hold them: blocked, asks for slots',
      [leader, { plan: null, slotsLeft: false }, 900, 0, true],
      { state: 'waiting', inMs: 10_000, blocked: true, wantsSlots: true, heldBy: 'calls in flight of other leaders' },
    ],
    [
      'the rate is used up: blocked till then, asks for no slots',
      [leader, { plan: plan({ pacedUntilMs: 1_400 }), slotsLeft: true }, 900, 0, true],
      { state: 'waiting', inMs: 400, blocked: true, wantsSlots: false, heldBy: 'rate' },
    ],
    [
      'the rate that others share is used up',
      [
        leader,
        { plan: plan({ pacedUntilMs: 1_400, shared: { paces: [], ownMs: 0, wants: true } }), slotsLeft: true },
        ...([900, 0, true] as const),
      ],
      { state: 'waiting', inMs: 400, heldBy: 'shared rate' },
    ],
    [
      'its rate is used up, and it shares another',
      [
        leader,
        { plan: plan({ pacedUntilMs: 1_400, shared: { paces: [], ownMs: 0, wants: false } }), slotsLeft: true },
        ...([900, 0, true] as const),
      ],
      { state: 'waiting', inMs: 400, heldBy: 'rate' },
    ],
    [
      'due at this very moment: again',
      [leader, { plan: plan({ take: [1] }), slotsLeft: true }, 1_000, 1, true],
      { state: 'working', again: true },
    ],
    ['due, and it has not looked yet: again', [leader, nothing, 900, 0, true], { state: 'working', again: true }],
    [
      'due, no slot, one own call in flight: its end brings it back',
      [leader, { plan: null, slotsLeft: false }, 900, 1, true],
      { state: 'working', heldBy: 'calls in flight' },
    ],
    [
      'weight in flight is used up: blocked',
      [leader, { plan: plan({ weightBlocked: true }), slotsLeft: true }, 900, 0, true],
      { state: 'waiting', inMs: 10_000, blocked: true, wantsSlots: false },
    ],
    [
      'draining before continue-as-new: claims nothing more',
      [leader, nothing, 900, 1, false],
      { state: 'working', again: false, heldBy: 'continue-as-new' },
    ],
  ];
  test.each(cases)('%s', (_, given, expected) => {
    expect(decideNext(...given)).toMatchObject(expected);
  });

  test('no node holds its partition: looks after 2 s, then twice as long each time, up to a minute; blocked, so that the holder to be wakes it', () => {
    const waits: number[] = [];
    let last: Parameters<typeof decideNext>[5] = { heldBy: 'rate', dueInMs: 40_000 };
    for (let look = 0; look < 8; look++) {
      const next = decideNext(leader, { ...nothing, unserved: true }, 900, 0, true, last);
      expect(next).toMatchObject({ state: 'waiting', timer: true, blocked: true, wantsSlots: false });
      waits.push(next.inMs);
      last = { heldBy: next.heldBy, dueInMs: next.inMs };
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  });
});

test('without anything due a workflow looks every minute; a notifier ends its run after 300 events', () => {
  expect([IDLE_LOOK_MS, NOTIFIER_RUN.mostEvents]).toEqual([60_000, 300]);
});
