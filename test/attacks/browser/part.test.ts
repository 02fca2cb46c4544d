import { attackFromBrowser, countsIn } from './part';

/** The part of `npm run attack` that needs a browser: what it printed counts, and none is said. */

test('what is printed of each page counts, with what got through', () => {
  const printed = [
    'Chrome/156.0.8078.108',
    'headers as recorded                                    130 requests, 0 differ',
    'API that is open: page of another port                 1345 tried, 0 got through',
    'API with tokens: page of another site                  12 tried, 2 got through',
    '  fetch POST /v1/x: the page could read "{}"',
    '  something was changed',
    'API that is open: the same from a program              50 of 50 not refused',
    '',
  ].join('\n');
  expect(countsIn(printed)).toEqual([
    { door: 'API that is open: page of another port', tried: 1345, through: [], note: '' },
    {
      door: 'API with tokens: page of another site',
      tried: 12,
      through: ['fetch POST /v1/x: the page could read "{}"', 'something was changed'],
      note: '',
    },
  ]);
});

test('without a Chromium, or in the short form, nothing is tried, and why is said', async () => {
  expect(await attackFromBrowser('/nowhere', false)).toEqual({
    code: 0,
    counts: [],
    untried: 'no Chromium on the PATH',
  });
  expect(await attackFromBrowser(process.env['PATH']!, true)).toMatchObject({ untried: expect.any(String) });
});
