import fc from 'fast-check';
import { grantSlots, shareSlots } from '../../workflows/planning/grouping/slots';

const ask = (request: Partial<Parameters<typeof grantSlots>[0]>) =>
  grantSlots({ limit: 8, granted: [], leader: 'me', activeLeaders: 1, othersBlocked: false, wanted: 99, ...request });
const held = (...slots: [string, number][]) => slots.map(([leader, count]) => ({ leader, slots: count }));

describe('grantSlots (H5, A18)', () => {
  test.each<[string, Parameters<typeof ask>[0], number]>([
    ['alone: all that is free', {}, 8],
    ['alone: no more than wanted', { wanted: 3 }, 3],
    ['alone: what the own dispatches leave', { granted: held(['me', 2], ['me', 3]) }, 3],
    ['an idle leader still has calls running', { granted: held(['two', 5]) }, 3],
    ['two active: half', { activeLeaders: 2 }, 4],
    ['two active: half in all', { activeLeaders: 2, granted: held(['me', 3]) }, 1],
    ['shares are rounded up', { activeLeaders: 3 }, 3],
    ['above the share already: nothing more, nothing back', { activeLeaders: 2, granted: held(['me', 6]) }, 0],
    ['more leaders than slots: one', { activeLeaders: 20, limit: 4 }, 1],
    ['all taken', { activeLeaders: 2, granted: held(['two', 8]) }, 0],
    ['the limit was lowered below what runs', { limit: 2, granted: held(['two', 5]) }, 0],
    ['nothing wanted', { wanted: 0 }, 0],
    ['a blocked other leader is an active one', { othersBlocked: true }, 4],
    [
      'a leader that ended its dispatch leaves the slot to the one that has none',
      { limit: 4, activeLeaders: 3, othersBlocked: true, granted: held(['me', 1], ['two', 2]) },
      0,
    ],
    [
      '... and takes it where nobody is blocked',
      { limit: 4, activeLeaders: 3, granted: held(['me', 1], ['two', 2]) },
      1,
    ],
    [
      '... which then gets it',
      { limit: 4, activeLeaders: 3, othersBlocked: true, granted: held(['one', 1], ['two', 2]) },
      1,
    ],
    [
      'leaves none for those who hold some',
      { limit: 4, activeLeaders: 3, othersBlocked: true, granted: held(['me', 1], ['two', 1], ['three', 1]) },
      1,
    ],
    [
      'leaves one for the only one who holds none',
      { limit: 4, activeLeaders: 3, othersBlocked: true, granted: held(['me', 1], ['two', 1]) },
      1,
    ],
    ['all empty-handed: the first one still goes', { limit: 1, activeLeaders: 3, othersBlocked: true }, 1],
  ])('%s', (_, request, slots) => {
    expect(ask(request)).toBe(slots);
  });

  const anyRequest = fc.record({
    limit: fc.integer({ min: 1, max: 20 }),
    granted: fc.array(fc.record({ leader: fc.constantFrom('me', 'two', 'three', 'four'), slots: fc.nat(4) }), {
      maxLength: 6,
    }),
    leader: fc.constant('me'),
    activeLeaders: fc.integer({ min: 1, max: 4 }),
    othersBlocked: fc.boolean(),
    wanted: fc.nat(30),
  });

  test('never above the limit, the share or the wish; whole and never negative', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const slots = grantSlots(request);
        const total = request.granted.reduce((sum, dispatch) => sum + dispatch.slots, 0);
        const mine = request.granted.reduce((sum, { leader, slots }) => sum + (leader === 'me' ? slots : 0), 0);
        expect(Number.isInteger(slots) && slots >= 0).toBe(true);
        if (slots === 0) return;
        expect(total + slots).toBeLessThanOrEqual(request.limit);
        expect(slots).toBeLessThanOrEqual(request.wanted);
        const alone = request.activeLeaders === 1 && !request.othersBlocked;
        if (!alone) expect(mine + slots).toBeLessThanOrEqual(Math.ceil(request.limit / request.activeLeaders));
      }),
    );
  });

  test('progress: who holds nothing and wants something gets something while a slot is free', () => {
    fc.assert(
      fc.property(anyRequest, (request) => {
        const others = request.granted.filter((dispatch) => dispatch.leader !== 'me');
        const free = request.limit - others.reduce((sum, dispatch) => sum + dispatch.slots, 0);
        const slots = grantSlots({ ...request, granted: others });
        if (request.wanted > 0 && free > 0) expect(slots).toBeGreaterThan(0);
      }),
    );
  });

  test('nobody starves while there are slots for all, though who ends a call asks again first', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 6 }),
        fc.nat(10),
        fc.infiniteStream(fc.nat(99)),
        (leaders, extra, picks) => {
          const limit = leaders + extra;
          const holds = Array<number>(leaders).fill(0);
          const askFor = (leader: number, othersBlocked: boolean): void => {
            const granted = holds.map((slots, at) => ({ leader: at, slots }));
            holds[leader]! += grantSlots({ limit, granted, leader, activeLeaders: leaders, othersBlocked, wanted: 99 });
          };
          const all = holds.map((_, at) => at);
          // Rounded-up shares may leave the last ones empty-handed: from here on they are blocked.
          for (const leader of all) askFor(leader, false);
          const served = new Set(all.filter((leader) => holds[leader]! > 0));
          for (let calls = 0; calls < 200 && served.size < leaders; calls++) {
            const busy = all.filter((leader) => holds[leader]! > 0);
            const done = busy[picks.next().value! % busy.length]!;
            holds[done]! -= 1;
            for (const leader of [done, ...all]) askFor(leader, true);
            all.filter((leader) => holds[leader]! > 0).forEach((leader) => served.add(leader));
            expect(holds.reduce((sum, slots) => sum + slots, 0)).toBe(limit);
          }
          expect(served.size).toBe(leaders);
        },
      ),
    );
  });
});

describe('shareSlots (H5)', () => {
  test.each([
    [16, [32], [16]],
    [16, [16, 16], [8, 8]],
    [16, [11, 11, 10], [5, 6, 5]],
    [1, [4, 4], [0, 1]],
    [8, [3, 5], [3, 5]],
    [8, [], []],
    [2, [0, 4, 0], [0, 2, 0]],
  ])('%d among %j are %j', (limit, held, shares) => {
    expect(shareSlots(limit, held)).toEqual(shares);
  });

  test('whole, in sum the limit, and nobody gets more than it had', () => {
    fc.assert(
      fc.property(fc.nat(40), fc.array(fc.nat(40), { maxLength: 12 }), (limit, held) => {
        const shares = shareSlots(limit, held);
        const sum = (all: readonly number[]): number => all.reduce((total, slots) => total + slots, 0);
        expect(sum(shares)).toBe(Math.min(limit, sum(held)));
        shares.forEach((share, at) => expect(share).toBeLessThanOrEqual(held[at]!));
      }),
    );
  });
});
