import { Readable } from 'node:stream';
import fc from 'fast-check';
import { durationOption } from '../../../client/cli/support/command';
import type { Line } from '../../../client/cli/support/lines';
import { INVALID_UTF8, lineGroups } from '../../../client/cli/support/lines';
import { isLineProblem, parseTaskLine } from '../../../client/cli/support/taskLine';
import { duration, printable } from '../../../client/cli/support/output';

const read = async (chunks: readonly Buffer[], maxBytes = 1_000): Promise<Line[]> => {
  const all: Line[] = [];
  for await (const { lines } of lineGroups(Readable.from(chunks), maxBytes)) all.push(...lines);
  return all;
};

test('lines of any chunking are the lines of the whole, numbered as an editor numbers them', async () => {
  const line = fc.stringMatching(/^[a-zé\u{1f600}]{0,12}$/u);
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 8 }), fc.array(fc.nat(20), { maxLength: 8 }), async (lines, sizes) => {
      const text = Buffer.from(lines.join('\n'));
      const chunks: Buffer[] = [];
      for (let at = 0, i = 0; at < text.length; i++) {
        const size = (sizes[i % Math.max(1, sizes.length)] ?? 3) + 1;
        chunks.push(text.subarray(at, at + size));
        at += size;
      }
      const expected = lines
        .map((one, index) => ({ number: index + 1, text: one }))
        .filter(({ text: one }) => one !== '');
      expect(await read(chunks)).toEqual(expected);
    }),
  );
});

test('a line above the limit is dropped, the others are not; bytes that are not UTF-8 are told', async () => {
  const long = Buffer.from(`ok\n${'x'.repeat(50)}\nok\n`);
  expect(await read([long.subarray(0, 20), long.subarray(20)], 10)).toEqual([
    { number: 1, text: 'ok' },
    { number: 2, text: null },
    { number: 3, text: 'ok' },
  ]);
  expect(await read([Buffer.from([0x22, 0xff, 0x22, 0x0a])])).toEqual([{ number: 1, text: INVALID_UTF8 }]);
});

test.each([
  ['250ms', 250],
  ['30', 30_000],
  ['1.5s', 1_500],
  ['5m', 300_000],
  ['2h', 7_200_000],
])('duration %s', (text, ms) => {
  expect(durationOption(text)).toBe(ms);
});
test.each(['', 'soon', '-1s', '5 years', '1e9h'])('no duration: %p', (text) => {
  expect(() => durationOption(text)).toThrow('Expected a duration such as 500ms, 30s, 5m or 2h.');
});
test.each([
  [0, '0 ms'],
  [999, '999 ms'],
  [2_340, '2.3 s'],
  [12_340, '12 s'],
  [250_000, '250 s'],
  [-61_000, '-61 s'],
  [3_000_000, '50 min'],
  [187_200_000, '52 h'],
  [777_600_000, '9 d'],
])('%d ms is shown as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test('control characters and changes of writing direction are shown, not obeyed', () => {
  expect(printable('a\u001b[2J\u202eb\nc')).toBe('a\\u001b[2J\\u202eb\nc');
});

test('a number of a line that would lose digits is refused with its line and field', () => {
  const line = { number: 7, text: '{"id":"order-1","payload":{"order":9007199254740993}}' };
  const parsed = parseTaskLine(line, 1_000);
  expect(isLineProblem(parsed) && parsed).toMatchObject({
    line: 7,
    id: 'order-1',
    field: 'payload.order',
    code: 'LOSSY_NUMBER',
    message: expect.stringContaining('9007199254740993: ') as string,
  });
  expect(isLineProblem(parseTaskLine({ number: 1, text: line.text.replace('993', '992') }, 1_000))).toBe(false);
});
