import { encodeFrame, FrameReader } from '../../../activities/executions/executors/wasm/guest/frames';

/** What a node believes of a process that may have been taken over. */

const LIMITS = { head: 100, first: 10, second: 10 };
const frame = encodeFrame({ exitCode: 0 }, Buffer.from('out'), Buffer.from('err'));

test('a frame is put together from what arrives, however it is cut', () => {
  for (let cut = 1; cut < frame.length; cut++) {
    const reader = new FrameReader();
    expect(reader.add(frame.subarray(0, cut), LIMITS)).toBeNull();
    const { head, first, second } = reader.add(frame.subarray(cut), LIMITS)!;
    expect([head, first.toString(), second.toString()]).toEqual([{ exitCode: 0 }, 'out', 'err']);
    expect(reader.add(frame, LIMITS)).not.toBeNull(); // and the next one
  }
});

test.each([
  ['head', 0],
  ['first', 4],
  ['second', 8],
])('a %s that is longer than it may be is refused by its length, before it arrives', (_, at) => {
  const header = Buffer.from(frame.subarray(0, 12));
  header.writeUInt32LE(4_000_000_000, at);
  expect(() => new FrameReader().add(header, LIMITS)).toThrow('answered more than it may');
});

test('more than one answer is refused', () => {
  expect(() => new FrameReader().add(Buffer.concat([frame, frame]), LIMITS)).toThrow('answered twice');
});
