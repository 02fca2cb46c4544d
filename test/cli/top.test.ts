import { PassThrough } from 'node:stream';
import { live } from '../../client/cli/top/live';
import type { TopRow } from '../../client/cli/top/rows';
import { isOrderKey, sortedBy } from '../../client/cli/top/rows';
import { topLine, topTable } from '../../client/cli/top/screen';
import { eventually } from '../helpers/eventually';

/** The live table of `muster top`: its order, its text, and what it does to a terminal. */

const row = (handler: string, given: Partial<TopRow> = {}): TopRow => ({
  handler,
  waiting: 0,
  oldestMs: null,
  inFlightCalls: 0,
  callsPerS: 0,
  endsPerMin: { succeeded: 0, failed: 0, dead: 0, cancelled: 0, unknown: 0, retried: 0 },
  p50Ms: null,
  p99Ms: null,
  tasksPerCall: null,
  note: '',
  ...given,
});

test('rows are sorted by what a key names, the largest first, then by handler', () => {
  const rows = [row('b', { waiting: 5 }), row('c', { waiting: 9, oldestMs: 3 }), row('a', { waiting: 5 })];
  const names = (key: 'h' | 'w' | 'o'): string =>
    sortedBy(rows, key)
      .map(({ handler }) => handler)
      .join('');
  expect([names('h'), names('w'), names('o')]).toEqual(['abc', 'cab', 'cab']);
  const failing = [row('a'), row('b', { endsPerMin: { ...row('b').endsPerMin, dead: 1 } })];
  expect(sortedBy(failing, 'e')[0]!.handler).toBe('b');
  expect([isOrderKey('w'), isOrderKey('q'), isOrderKey('toString')]).toEqual([true, false, false]);
});

test('the table shows what waits, what is done and why nothing goes on', () => {
  const text = topTable(
    [row('orders', { waiting: 1_234, oldestMs: 90_000, callsPerS: 12.34, p99Ms: 230, note: 'paused: stock-taking' })],
    'h',
  );
  expect(text).toMatch(/orders .* 1234 .* 90 s .* 12 .* 230 ms .* paused: stock-taking/);
  expect(topTable([], 'h')).toMatch(/^No handler/);
  expect(topLine('now', 'w', 'no answer')).toMatch(/sorted by waiting[^]*Cannot read the store: no answer/);
});

const terminal = () => {
  const modes: boolean[] = [];
  const keys = Object.assign(new PassThrough(), { setRawMode: (mode: boolean) => void modes.push(mode) });
  const out = new PassThrough();
  let text = '';
  out.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return { keys, out, modes, text: () => text };
};

test.each(['q', '\u0003'])('it draws until %j is pressed, and leaves the terminal as it was', async (key) => {
  const { keys, out, modes, text } = terminal();
  let reads = 0;
  const running = live(
    { keys, out },
    async () => ++reads,
    (n, order) => `read ${n} by ${order}\nsecond line`,
  );
  await eventually(() => text().includes('read 1 by h'));
  keys.write('xw');
  await eventually(() => text().includes('read 1 by w'));
  await eventually(() => text().includes('read 2 by w'));
  keys.write(key);
  await running;
  expect(modes).toEqual([true, false]);
  expect(text()).toMatch(/^\u001b\[\?1049h[^]*\u001b\[\?1049l$/);
});

test('of a table that is longer than the terminal the beginning is shown', async () => {
  const { keys, out, text } = terminal();
  const read = (): Promise<null> => Promise.resolve(null);
  const running = live({ keys, out: Object.assign(out, { rows: 2 }) }, read, () => 'one\ntwo\nthree');
  await eventually(() => text().includes('two'));
  keys.write('q');
  await running;
  expect(text()).not.toContain('three');
});

test('what fails in it leaves the terminal as it was', async () => {
  const { keys, out, modes, text } = terminal();
  const running = live(
    { keys, out },
    () => Promise.reject(new Error('away')),
    () => '',
  );
  await expect(running).rejects.toThrow('away');
  expect(modes).toEqual([true, false]);
  expect(text()).toMatch(/1049l$/);
});
