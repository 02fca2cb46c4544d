import { failuresOf } from './run';
import { figuresOf } from './targets';

/** What is said of single targets after a fault. */

test('of each mover the worst target counts; one whose work did not end is the worst', () => {
  const took = [
    { mover: 'plain', target: 'k1', ms: 900 },
    { mover: 'plain', target: 'k2', ms: 45_000.4 },
    { mover: 'plain', target: 'k3', ms: 12_000 },
    { mover: 'lane', target: 's1', ms: 800 },
    { mover: 'lane', target: 's2', ms: null },
    { mover: 'lane', target: 's3', ms: 90_000 },
  ];
  expect(figuresOf(took)).toEqual({
    plain: { n: 3, stillMs: 45_000, target: 'k2' },
    lane: { n: 3, stillMs: null, target: 's2' },
  });
});

test('a target that stood for longer than allowed fails the run, although its handler went on at once', () => {
  const phase = {
    phase: 'temporal-killed',
    faultMs: 1,
    againMs: { plain: 900 },
    goesOnMs: 900,
    stillMs: {},
    deaths: 0,
    loadAverage: 1,
    own: {},
    drainedMs: 50_000,
    targets: { plain: { n: 12, stillMs: 45_000, target: 'k2' }, placed: { n: 12, stillMs: 29_000, target: 'k1' } },
    submits: { againMs: 1, longestMs: 1, failures: 0, messages: [] },
  };
  const truth = {
    findings: [],
    stood: 0,
    namedBy: { verify: 0, status: 0, explain: 0, healthz: 0 },
    rounds: 0,
    namedAfterMs: null,
    calmRounds: 1,
  };
  const balance = {
    accepted: 1,
    succeeded: 1,
    lost: 0,
    stuck: 0,
    failed: 0,
    doubled: 0,
    disordered: 0,
    untold: 0,
    findings: [],
  };
  expect(
    failuresOf({ phases: [phase], truth, balance, verification: { ok: true } as never, deaths: 0 }, 30_000),
  ).toEqual([
    'temporal-killed: target k2 of plain had open work and did not move for 45000 ms after it, expected 30000 ms at most',
  ]);
});
