import { isoMs } from '../../../client/isoTime';

/** What counts as an ISO time, of tasks and of lists. */

test.each([
  ['2030-01-31', Date.UTC(2030, 0, 31)],
  ['2030-01-31T12:00Z', Date.UTC(2030, 0, 31, 12)],
  ['2030-01-31T12:00:30Z', Date.UTC(2030, 0, 31, 12, 0, 30)],
  ['2030-01-31T12:00:30.125Z', Date.UTC(2030, 0, 31, 12, 0, 30, 125)],
  ['2030-01-31T12:00:30.125678+02:00', Date.UTC(2030, 0, 31, 10, 0, 30, 125)],
  ['2030-01-31T12:00:30', new Date(2030, 0, 31, 12, 0, 30).getTime()],
])('%s is one', (text, ms) => {
  expect(isoMs(text)).toBe(ms);
});

test.each(['0', '1', '0.5', '5/6', '2030', 'Jan 1', '2030-13-01', '2030-01-31 12:00', '2030-1-3', ' 2030-01-31', ''])(
  '%j is none',
  (text) => {
    expect(isoMs(text)).toBe(NaN);
  },
);
