import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Stint } from '../../../workers/api/callers/fairTime';
import type { ProblemName } from '../../../workers/api/problem';
import { ApiProblem, PROBLEMS } from '../../../workers/api/problem';
import { headOf } from '../../bench/tenants/wire';
import type { TestDatabase } from '../../helpers/database';
import { createDatabase } from '../../helpers/database';
import { eventually } from '../../helpers/eventually';

import { CALLER, SECRET, STINT, WAIT_MS, openDoor } from './door';

/** What becomes of requests that wait for their turn. */

let database: TestDatabase;
beforeAll(async () => void (database = await createDatabase()));
afterAll(() => database.drop());

let at: Awaited<ReturnType<typeof openDoor>>;
beforeEach(async () => void (at = await openDoor(database.pool)));
afterEach(async () => {
  at.wire.close();
  await at.app.close();
});

const ASK = 'GET /v1/audit';
const CHANGE = 'POST /v1/fanouts';

test('a request is begun when it is its turn', async () => {
  const answer = at.wire.send(ASK, SECRET, '');
  const { key, begin } = await at.nextHeld();
  expect([key, at.ran]).toEqual([7, []]);
  begin(STINT);
  expect((await answer).status).toBe(200);
  expect(at.ran).toEqual(['it']);
});

test.each([
  ['its turn', STINT],
  ['no turn', null],
])('a request whose caller went while it was held is not begun, and it gives back %s', async (_, given) => {
  const socket = connect({ port: at.port, host: '127.0.0.1' });
  socket.write(headOf(ASK, SECRET, 0));
  const { begin, isOver } = await at.nextHeld();
  expect(isOver()).toBe(false);
  socket.destroy();
  await eventually(async () => isOver(), { timeoutMs: 10_000 });
  let ended = 0;
  begin(given && { ...given, end: () => void ended++ });
  const other = at.wire.send(ASK, SECRET, '');
  (await at.nextHeld()).begin(STINT);
  await other;
  expect([at.ran, ended]).toEqual([['it'], given === null ? 0 : 1]);
});

test('requests without a valid token are one caller, whatever their address and what they send', async () => {
  for (const token of ['wrong', 'wrong too']) {
    const answer = at.wire.send(ASK, token, '');
    const { key, begin } = await at.nextHeld();
    begin(STINT);
    expect([key, (await answer).status]).toEqual([null, 401]);
  }
});

test('a request whose caller is looked up counts as one in progress', async () => {
  let know = (): void => undefined;
  at.gate.known = new Promise((resolve) => (know = resolve));
  const answer = at.wire.send(ASK, SECRET, '');
  await eventually(async () => at.admission.open.requests === 1, { timeoutMs: 10_000 });
  know();
  (await at.nextHeld()).begin(STINT);
  expect((await answer).status).toBe(200);
  at.gate.known = null;
});

test('looks of a long poll are spread while others call, and its wait is kept', async () => {
  const answer = at.wire.send('GET /v1/fanouts', SECRET, '');
  const held = await at.nextHeld();
  expect(held.waits).toBe(true);
  held.begin(STINT);
  expect((await answer).status).toBe(200);
  expect(at.looks.length).toBeGreaterThan(1);
  // Beside 300, the first would else be taken after 1.5 s.
  expect(Math.max(...at.looks)).toBeLessThanOrEqual(WAIT_MS);
  expect(at.looks[0]).toBeGreaterThan(WAIT_MS / 2);
});

test('looks of a long poll are not spread while its caller is alone', async () => {
  at.gate.others = false;
  const answer = at.wire.send('GET /v1/fanouts', SECRET, '');
  (await at.nextHeld()).begin(STINT);
  expect((await answer).status).toBe(200);
  expect(at.looks[0]).toBeLessThan(WAIT_MS / 2);
});

test('who waited too long is told so, and without a valid token what is known', async () => {
  for (const [token, status] of [
    [SECRET, 429],
    ['wrong', 401],
  ] as const) {
    const answer = at.wire.send(ASK, token, '');
    (await at.nextHeld()).refuse(new ApiProblem('caller-limit', 'It waited for too long.'));
    expect((await answer).status).toBe(status);
  }
});

test('what was answered by a refusal is one; what its caller did not wait for is none', async () => {
  const isRefused: boolean[] = [];
  const stint = { ...STINT, end: (refused: boolean) => void isRefused.push(refused) };
  const refused = at.wire.send('GET /v1/audit?x=%00', 'wrong', '');
  (await at.nextHeld()).begin(stint);
  await refused;
  const socket = connect({ port: at.port, host: '127.0.0.1' });
  let pass = (): void => undefined;
  at.gate.passed = new Promise((resolve) => (pass = resolve));
  socket.write(headOf(ASK, SECRET, 0));
  (await at.nextHeld()).begin(stint);
  await eventually(async () => at.ran.length > 0, { timeoutMs: 10_000 });
  socket.destroy();
  await eventually(async () => isRefused.length === 2, { timeoutMs: 10_000 });
  pass();
  expect(isRefused).toEqual([true, false]);
});

const REFUSED = [400, 401, 403, 405, 413, 415, 422, 429];

test('of all problems, those are refusals that are the caller’s doing and cost no answer', async () => {
  for (const [problem, [status]] of Object.entries(PROBLEMS)) {
    at.gate.problem = problem as ProblemName;
    const ends: boolean[] = [];
    const answer = at.wire.send(ASK, SECRET, '');
    (await at.nextHeld()).begin({ ...STINT, end: (isRefused) => void ends.push(isRefused) });
    expect([problem, (await answer).status]).toEqual([problem, status]);
    await eventually(async () => ends.length > 0, { timeoutMs: 10_000 });
    expect([problem, ends]).toEqual([problem, [REFUSED.includes(status)]]);
  }
});

test('the time of a request that is told begins when it is its turn', async () => {
  const answer = at.wire.send(ASK, SECRET, '');
  const { begin } = await at.nextHeld();
  await sleep(500);
  const begunAt = performance.now();
  begin(STINT);
  await answer;
  await eventually(async () => at.answered.length > 0, { timeoutMs: 10_000 });
  const [, status, ms] = at.answered[0]!;
  expect(status).toBe(200);
  expect(ms).toBeLessThanOrEqual(performance.now() - begunAt);
});

test.each([
  ['its turn comes', STINT],
  ['it is let go', null],
])('a request that is held when the process stops is not begun: %s', async (_, given) => {
  const answer = at.wire.send(ASK, SECRET, '');
  const { begin, isOver } = await at.nextHeld();
  expect(isOver()).toBe(false);
  at.stopping.abort();
  expect(isOver()).toBe(true);
  begin(given);
  const { status, body } = await answer;
  expect([status, JSON.parse(body).code, at.ran]).toEqual([503, 'STOPPING', []]);
});

test('the text of an answer is made at the cost of its caller, with and without a key', async () => {
  const made: unknown[] = [];
  const stint: Stint = {
    ...STINT,
    during: (work) => {
      const done = work();
      made.push(done);
      return done;
    },
  };
  for (const key of ['', 'Idempotency-Key: one\r\n']) {
    made.length = 0;
    const socket = connect({ port: at.port, host: '127.0.0.1' });
    socket.write(`${headOf(CHANGE, SECRET, 2).replace('\r\n\r\n', `\r\n${key}\r\n`)}{}`);
    (await at.nextHeld()).begin(stint);
    await eventually(async () => made.includes('"changed"'), { timeoutMs: 10_000 });
    // So is its body: it was measured, and parsed.
    expect(made).toEqual(expect.arrayContaining([expect.objectContaining({ depth: 1 }), {}]));
    socket.destroy();
  }
});

test('what is open to all and the document wait for no turn; the document is made once', async () => {
  for (const path of ['/health/live', '/openapi.json', '/openapi.json'])
    expect([path, (await at.wire.send(`GET ${path}`, SECRET, '')).status]).toEqual([path, 200]);
  expect([at.held, at.atOnce, at.documents.length]).toEqual([[], [CALLER.id, CALLER.id], 1]);
  const answer = at.wire.send('GET /openapi.json', 'wrong', '');
  const { key, begin } = await at.nextHeld();
  begin(STINT);
  expect([key, (await answer).status]).toEqual([null, 401]);
});

test('what runs after its caller went, knows so from its beginning', async () => {
  let pass = (): void => undefined;
  at.gate.passed = new Promise((resolve) => (pass = resolve));
  const socket = connect({ port: at.port, host: '127.0.0.1' });
  socket.write(`${headOf(CHANGE, SECRET, 2)}{}`);
  const { begin, isOver } = await at.nextHeld();
  begin(STINT);
  await eventually(async () => at.bodies() > 0, { timeoutMs: 10_000 });
  socket.destroy();
  await eventually(async () => isOver(), { timeoutMs: 10_000 });
  pass();
  await eventually(async () => at.aborted.length > 0, { timeoutMs: 10_000 });
  expect(at.aborted).toEqual([true]);
});
