import { joined } from './honest';

test('what an honest caller was told in ten minutes is joined, however much it is', () => {
  const accepted = Array.from({ length: 300_000 }, (_, i) => `t-${i}`);
  const part = { sent: 300_000, perS: 500, accepted, refused: { 429: 1 }, latenciesMs: accepted.map((_, i) => i) };
  const all = joined([part, part]);
  expect([all.sent, all.perS, all.accepted.length, all.latenciesMs.length, all.refused]).toEqual([
    600_000,
    500,
    600_000,
    600_000,
    { 429: 2 },
  ]);
});
