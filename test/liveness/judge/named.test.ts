import type { Mover } from '../movers';
import { HERD, MOVERS } from '../movers';
import type { Answers, Source } from './named';
import { healthyBy, namingOf, promiseOf, SOURCES } from './named';

/** Who says of which mover that it stands, that it is healthy, or that it goes on soon. */

const quiet: Answers = { verify: null, status: null, explained: new Map(), healthz: [] };
const mover = (name: string): Mover => MOVERS.find((one) => one.name === name)!;
const check = (name: string, ...violations: object[]): Partial<Answers> => ({
  verify: { checks: [{ name, violations }] },
});
const stateOf = (handler: string, more: object): Partial<Answers> => ({
  status: [{ handler, served: true, stalled: [], partitions: null, ...more }],
});
const part = (name: string, error: string): Partial<Answers> => ({
  healthz: [
    { worker: 0, parts: [{ part: 'database', healthy: true, error: null }] },
    { worker: 1, parts: [{ part: name, healthy: false, error }] },
  ],
});
const explains = (name: string, text: string): Partial<Answers> => ({
  explained: new Map([[name, { text, waitsFor: 'call' }]]),
});

test.each<[string, Partial<Answers>, string[]]>([
  ['verify: a leader of the handler', check('a woken leader takes a turn', { handler: 'plain' }), ['plain']],
  ['verify: a queuer', check('a woken queuer takes a turn', { queuer: 0 }), ['lane', 'lane-accepted']],
  ['verify: nothing violated', check('a woken leader takes a turn'), []],
  ['status: a leader', stateOf('plain', { stalled: [{ kind: 'leader' }] }), ['plain']],
  ['status: a queuer', stateOf('lane', { stalled: [{ kind: 'queuer' }] }), ['lane']],
  ['status: a monitor', stateOf('accepted', { stalled: [{ kind: 'monitor' }] }), ['accepted/asks']],
  ['status: the notifier', stateOf('plain', { stalled: [{ kind: 'notifier' }] }), ['callbacks']],
  ['status: no worker', stateOf('accepted', { served: false }), ['accepted']],
  ['status: partitions that nobody holds', stateOf('placed', { partitions: { n: 8, held: 7 } }), ['placed']],
  ['healthz: the database', part('database', 'no answer within 2000 ms'), MOVERS.map(({ name }) => name)],
  [
    'healthz: what stands is not known',
    part('turns', 'Postgres gave no answer within 2000 ms'),
    MOVERS.map(({ name }) => name),
  ],
  [
    'verify: a batch that is not called',
    check('a batch that a dispatch carries is called', { handler: 'plain' }),
    ['plain'],
  ],
  ['verify: a granted one', check('a batch that a submitter was granted is called', { handler: 'lane' }), ['lane']],
  ['status: a dispatch', stateOf('lane', { stalled: [{ kind: 'dispatch' }] }), ['lane']],
  [
    'healthz: a dispatch of a queuer',
    part('turns', 'dispatch of batch 7 of queuer 0 of handler "lane" has had overdue work for 61 s'),
    ['lane'],
  ],
  [
    'healthz: a dispatch of a leader',
    part('turns', 'dispatch of batch 7 of leader "0" of handler "plain" has had overdue work for 61 s'),
    ['plain'],
  ],
  [
    'explain: an accepted one',
    explains('accepted/asks', 'its next poll was due 31 s ago and is overdue'),
    ['accepted/asks'],
  ],
  ['healthz: a leader', part('turns', 'leader "0" of handler "plain" was woken 40 s ago'), ['plain']],
  ['healthz: a queuer', part('turns', 'queuer 0 was woken 40 s ago'), ['lane', 'lane-accepted']],
  ['healthz: no answer', { healthz: [{ worker: 0, parts: null }] }, MOVERS.map(({ name }) => name)],
  ['explain: has stalled', explains('lane', 'In lane s1. Queuer 0 has stalled: it was woken 40 s ago'), ['lane']],
  ['explain: silent for long', explains('plain', 'but leader "0" has been silent for 12 s past its lease'), ['plain']],
  ['explain: silent for a moment', explains('plain', 'but leader "0" has been silent for 447 ms past its lease'), []],
  ['explain: silent for a second', explains('plain', 'but leader "0" has been silent for 1 s past its lease'), []],
  ['explain: is at work', explains('plain', 'It is next for leader "0", which is at work now.'), []],
])('%s is named', (_, said, named) => {
  const answers = { ...quiet, ...said };
  expect(MOVERS.filter((one) => Object.keys(namingOf(one, answers)).length > 0).map(({ name }) => name)).toEqual(named);
});

const answered: Partial<Answers> = {
  verify: { checks: [] },
  ...stateOf('plain', {}),
  ...explains('plain', 'It is next for leader "0", which is at work now.'),
  healthz: [{ worker: 0, parts: [{ part: 'database', healthy: true, error: null }] }],
};
test.each<[string, Partial<Answers>, readonly Source[]]>([
  ['all answer, and all is well', {}, SOURCES],
  ['verify gives no answer', { verify: null }, ['status', 'explain', 'healthz']],
  ['verify names it', check('a woken leader takes a turn', { handler: 'plain' }), ['status', 'explain', 'healthz']],
  ['verify names another', check('a woken leader takes a turn', { handler: 'herd' }), SOURCES],
  ['status gives no answer', { status: null }, ['verify', 'explain', 'healthz']],
  ['status names it', stateOf('plain', { stalled: [{ kind: 'leader' }] }), ['verify', 'explain', 'healthz']],
  ['status names another', stateOf('plain', { stalled: [{ kind: 'monitor' }] }), SOURCES],
  ['explain gives no answer', { explained: new Map([['plain', null]]) }, ['verify', 'status', 'healthz']],
  ['explain was not asked', { explained: new Map() }, ['verify', 'status', 'healthz']],
  ['explain names it', explains('plain', 'leader "0" has stalled'), ['verify', 'status', 'healthz']],
  ['a worker is unhealthy for another', part('turns', 'monitor "accepted" has'), ['verify', 'status', 'explain']],
  ['a worker gives no answer', { healthz: [{ worker: 0, parts: null }] }, ['verify', 'status', 'explain']],
])('who calls it healthy: %s', (_, said, healthy) => {
  expect(healthyBy(mover('plain'), { ...quiet, ...answered, ...said })).toEqual(healthy);
});

test.each<[string, boolean]>([
  ['It is in call 1 of batch 7 (3 tasks) to target "k1", which may take another 900 ms.', true],
  ['It is in call 1 of batch 7 (3 tasks) to target "k1", which may take another 1.5 s.', true],
  ['The same batch is sent again in 2 s.', true],
  ['It is next for leader "0", which is at work now.', true],
  ['It is ready, but leader "0" has stalled: it was woken 40 s ago.', false],
  ['Succeeded after 1 counted attempt.', false],
])('a promise or none: %s', (text, promises) => {
  expect(promiseOf(mover(HERD), { ...quiet, ...explains(HERD, text) })).toEqual(promises ? text : null);
});
