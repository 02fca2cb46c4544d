import { BackOff, TurnBackOff } from '../../workers/sweeper/backOff';

test('what stays due is woken at once, after 10 s, then half as often each time up to every 5 minutes', () => {
  let now = 0;
  const backOff = new BackOff(() => now);
  const tries: number[] = [];
  for (; now <= 1_500_000; now += 1_000) if (backOff.mayTry('a', true)) tries.push(now / 1_000);
  expect(tries).toEqual([0, 10, 30, 70, 150, 310, 610, 910, 1210]);
  expect(backOff.mayTry('b', true)).toBe(true);
  expect(backOff.mayTry('a', false)).toBe(false);
  expect(backOff.mayTry('a', true)).toBe(true); // it got on in between
});

test('a wake that failed is repeated after 2 s, then half as often up to every 10 s, and the next begins anew', () => {
  let now = 0;
  const backOff = new BackOff(() => now);
  const tries: number[] = [];
  const told: number[] = [];
  for (; now <= 400_000; now += 1_000)
    if (backOff.mayTry('a', true)) {
      tries.push(now / 1_000);
      const fails = (now > 140_000 && now < 190_000) || now === 224_000;
      if (fails && backOff.wakeFailed('a')) told.push(now / 1_000);
    }
  expect(tries.slice(0, 10)).toEqual([0, 10, 30, 70, 150, 152, 156, 164, 174, 184]);
  expect(tries.slice(10)).toEqual([194, 204, 224, 226, 236, 256, 296, 376]);
  expect(told).toEqual([150, 224]);
});

test('a leader that takes no turn is woken at once, after 10 s, then half as often up to once a minute; one that took a turn at once', () => {
  let now = 0;
  const backOff = new TurnBackOff<{ id: number; epoch: number; turn: number }>(
    ({ id }) => id,
    () => now,
  );
  const still = { id: 1, epoch: 3, turn: 7 };
  const wakes: number[] = [];
  for (; now <= 240_000; now += 1_000) if (backOff.mayWake(still)) wakes.push(now / 1_000);
  expect(wakes).toEqual([0, 10, 30, 70, 130, 190]);
  expect(backOff.mayWake({ ...still, id: 2 })).toBe(true);
  expect(backOff.mayWake(still)).toBe(false);
  expect(backOff.mayWake({ ...still, turn: 8 })).toBe(true);
  expect(backOff.mayWake({ ...still, epoch: 4, turn: 8 })).toBe(true);
  expect(backOff.mayWake({ ...still, epoch: 4, turn: 8 })).toBe(false);
  backOff.wakeFailed([still]);
  expect(backOff.mayWake({ ...still, epoch: 4, turn: 8 })).toBe(true);
});

test('leaders that got on are forgotten', () => {
  let now = 0;
  const backOff = new TurnBackOff<{ id: number; epoch: number; turn: number }>(
    ({ id }) => id,
    () => now,
  );
  for (let id = 0; id < 10_000; id++) backOff.mayWake({ id, epoch: 1, turn: 1 });
  now = 180_000;
  expect(backOff.mayWake({ id: 0, epoch: 1, turn: 1 })).toBe(true);
  expect(backOff.size).toBe(1);
});
