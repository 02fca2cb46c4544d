import { asUnreadable, unreadable, whyUnreadable } from '../../../workflows/planning/unreadable';

test('a marker says why, and by which encoding; anything else is none', () => {
  expect(unreadable('garbled')).toStrictEqual({ musterUnreadable: 'garbled' });
  const marker = unreadable('no key', 'binary/x');
  expect(marker).toStrictEqual({ musterUnreadable: 'no key', encoding: 'binary/x' });
  expect([asUnreadable(marker), whyUnreadable(marker)]).toEqual([marker, 'no key']);
  for (const value of [null, undefined, {}, 'no key', { musterUnreadable: 1 }])
    expect([asUnreadable(value), whyUnreadable(value)]).toEqual([null, null]);
});
