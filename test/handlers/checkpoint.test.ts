import { CHECKPOINT_BYTES_MAX, InvalidCheckpointError } from '../../handlers';
import { checkpointJson } from '../../handlers/partitions/checkpoint';

/** What a checkpoint may be: nothing in it is replaced or left out. */

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = [value];
  return value;
};
const circle: Record<string, unknown> = {};
circle['self'] = circle;

test('a checkpoint that fits is kept as it is, up to its limits', () => {
  const values = [null, 0, 'käse 🧀', { cursor: ['a', 2] }, 'x'.repeat(CHECKPOINT_BYTES_MAX - 2), nested(100)];
  for (const value of values) expect(JSON.parse(checkpointJson(value))).toEqual(value);
});

test.each<[string, unknown, string, RegExp]>([
  ['nothing', undefined, 'checkpoint', /written as JSON, got nothing/],
  ['a function', () => 1, 'checkpoint', /written as JSON, got a function/],
  ['a bigint', 1n, 'checkpoint', /written as JSON, got TypeError/],
  ['a circle', circle, 'checkpoint', /written as JSON, got TypeError/],
  ['too long', 'x'.repeat(CHECKPOINT_BYTES_MAX - 1), 'checkpoint', /at most 4096 bytes of JSON, got 4097/],
  ['too long in bytes', 'ä'.repeat(CHECKPOINT_BYTES_MAX / 2), 'checkpoint', /got 4098/],
  ['too deep', nested(101), 'checkpoint', /at most 100 levels/],
  ['deeper than the writer goes', nested(100_000), 'checkpoint', /at most 100 levels/],
  ['NUL', { cursor: ['a', 'b\0'] }, 'checkpoint.cursor[1]', /U\+0000/],
  ['half a surrogate pair', { at: { key: '\ud83e' } }, 'checkpoint.at.key', /half surrogate/],
  ['NUL in a name', { at: { 'k\0': 1 } }, 'checkpoint.at."k\\u0000"', /U\+0000/],
])('a checkpoint is refused, and the field named: %s', (_, value, field, message) => {
  const write = () => checkpointJson(value);
  expect(write).toThrow(InvalidCheckpointError);
  expect(write).toThrow(expect.objectContaining({ field, message: expect.stringMatching(message) as string }));
});
