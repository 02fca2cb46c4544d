import { Snapshots } from '../../workers/api/dashboard/snapshots';

/** What viewers share of what the API reads for their pages. */

const LARGE = 'x'.repeat(100_001);

/** Counts how often it is read; each reading takes so long. */
const open = (tookMs = 0) => {
  let ms = 0;
  let reads = 0;
  const snapshots = new Snapshots(() => ms);
  return {
    snapshots,
    pass: (by: number) => void (ms += by),
    reads: () => reads,
    look: (text = 'small', key = 'list') =>
      snapshots.of(key, () => {
        reads++;
        ms += tookMs;
        return Promise.resolve(text);
      }),
  };
};

test('one reading is for all that look within a second, or within four times what it took, up to 30 s', async () => {
  for (const [tookMs, shownMs] of [
    [0, 1_000],
    [600, 2_400],
    [120_000, 30_000],
  ] as const) {
    const { look, pass, reads } = open(tookMs);
    await Promise.all([look(), look()]);
    pass(shownMs - 1);
    await look();
    expect(reads()).toBe(1);
    pass(1);
    await look();
    expect(reads()).toBe(2);
    await look('other', 'other');
    expect(reads()).toBe(3);
  }
});

test('what is large is shared while it is read, and not kept', async () => {
  const { look, reads } = open();
  expect(await Promise.all([look(LARGE), look(LARGE)])).toEqual([LARGE, LARGE]);
  expect(reads()).toBe(1);
  await look(LARGE);
  expect(reads()).toBe(2);
  await look(LARGE.slice(1), 'as large as may be');
  await look(LARGE.slice(1), 'as large as may be');
  expect(reads()).toBe(3);
});

test('what failed is read again, and a change forgets all', async () => {
  const { snapshots, look, reads } = open();
  await expect(snapshots.of('list', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
  await look();
  snapshots.clear();
  await look();
  expect(reads()).toBe(2);
});
