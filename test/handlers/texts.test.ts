import fc from 'fast-check';
import { linkedSignal } from '../../handlers/deadline';
import { parseHttpDate } from '../../handlers/http/retryAfter';
import { didYouMean, editDistance } from '../../handlers/suggest';
import { cutText, describeThrown, show } from '../../handlers/text';

describe('error texts', () => {
  test('are cut, whole in characters, and storable', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (text, max) => {
        const cut = cutText(text, max);
        expect(cut.length).toBeLessThanOrEqual(Math.max(max, 1));
        expect(cut).not.toContain('\0');
        expect(Buffer.from(cut).toString()).toBe(cut);
      }),
    );
    expect(cutText('short')).toBe('short');
    expect(cutText('😀'.repeat(3), 4)).toBe('😀\ufffd…');
  });

  test('show and describeThrown take anything', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        expect(show(value).length).toBeLessThanOrEqual(160);
        expect(describeThrown(value).length).toBeLessThanOrEqual(2_000);
      }),
    );
  });

  test('causes are followed, not repeated, and never without end', () => {
    const loop = new Error('a');
    loop.cause = new Error('b', { cause: loop });
    expect(describeThrown(loop)).toBe('a (cause: b (cause: a (cause: b)))');
    expect(describeThrown(new Error('x: y', { cause: new Error('y') }))).toBe('x: y');
    expect(describeThrown(new AggregateError([new Error('first')]))).toBe('AggregateError (cause: first)');
    expect(describeThrown(Object.assign(new TypeError('t'), { code: 'C' }))).toBe('TypeError: t [C]');
  });
});

describe('suggestions', () => {
  test.each([
    ['maxItem', 'maxItems'],
    ['maxitems', 'maxItems'],
    ['linegr', 'linger'],
  ])('%s: %s', (word, known) => {
    expect(didYouMean(word, ['name', 'maxItems', 'linger'])).toBe(`; did you mean "${known}"?`);
  });

  test('no suggestion is made where nothing is close', () => {
    expect(didYouMean('zzzzzz', ['name', 'maxItems'])).toBe('');
    expect(didYouMean('x'.repeat(1_000), ['name'])).toBe('');
  });

  test('the distance is symmetric, zero for equals, and at most the longer length', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
        expect(editDistance(a, b)).toBe(editDistance(b, a));
        expect(editDistance(a, b) === 0).toBe(a === b);
        expect(editDistance(a, b)).toBeLessThanOrEqual(Math.max(a.length, b.length));
      }),
    );
  });
});

describe('HTTP dates', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  test('every second is read back', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true }), (date) => {
        expect(parseHttpDate(date.toUTCString(), now)).toBe(Math.floor(date.getTime() / 1_000) * 1_000);
      }),
    );
  });

  test.each([
    ['Friday, 02-Jan-26 00:00:00 GMT', '2026-01-02T00:00:00Z'],
    ['Sunday, 06-Nov-94 08:49:37 GMT', '1994-11-06T08:49:37Z'],
    ['Thursday, 01-Jan-76 00:00:00 GMT', '2076-01-01T00:00:00Z'],
    ['Fri Jan  2 00:00:00 2026', '2026-01-02T00:00:00Z'],
    ['Wednesday, 07-Jan-26 00:00:00 GMT', '2026-01-07T00:00:00Z'],
  ])('%s', (text, iso) => {
    expect(parseHttpDate(text, now)).toBe(Date.parse(iso));
  });

  test.each(['', 'tomorrow', '2026-01-02', 'Fri, 02 Jan 2026 00:00:00', 'Fri, 02 Foo 2026 00:00:00 GMT'])(
    '%j is none',
    (text) => {
      expect(parseHttpDate(text, now)).toBeUndefined();
    },
  );
});

test('a linked signal lets go of its parent', () => {
  const parent = new AbortController();
  const linked = linkedSignal(parent.signal, 60_000);
  linked.dispose();
  parent.abort();
  expect(linked.signal.aborted).toBe(false);
  expect(linked.timedOut()).toBe(false);
});
