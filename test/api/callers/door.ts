import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pino from 'pino';
import { z } from 'zod';
import type { Pool } from '../../../postgres/pool';
import { Costs } from '../../../workers/api/callers/costs';
import type { CallerKey, FairTime, Stint } from '../../../workers/api/callers/fairTime';
import { Validity } from '../../../workers/api/callers/validity';
import { Admission, DEFAULT_LIMITS } from '../../../workers/api/limits';
import type { ProblemName } from '../../../workers/api/problem';
import { ApiProblem } from '../../../workers/api/problem';
import { route } from '../../../workers/api/route';
import type { ServerDeps } from '../../../workers/api/server';
import { createServer } from '../../../workers/api/server';
import { waited } from '../../../workers/api/streams';
import { systemRoutes } from '../../../workers/api/routes/system';
import { UNLIMITED } from '../../../workers/api/tenants/bounds';
import { Wire } from '../../bench/tenants/wire';
import { eventually } from '../../helpers/eventually';

/** A server of which each test says whose turn it is, with keys as its only store. */

export interface Held {
  key: CallerKey;
  isOver(): boolean;
  waits: boolean;
  begin(stint: Stint | null): void;
  refuse(error: Error): void;
}
export const STINT: Stint = { during: (work) => work(), end: () => undefined };
export const WAIT_MS = 300;
export const SECRET = 'valid';
export const CALLER = { id: 7, tokenId: 7, name: 'held', scopes: new Set(['admin']), limits: UNLIMITED };

interface Gate {
  passed: Promise<void> | null;
  known: Promise<void> | null;
  /** What comes of what runs; null: an answer. */
  problem: ProblemName | null;
  /** Others call, and the thread is busy. */
  others: boolean;
}

export const openDoor = async (keyPool: Pool) => {
  const held: Held[] = [];
  const ran: string[] = [];
  /** Bodies, and what runs, wait for the one; looks at who calls for the other. */
  const gate: Gate = { passed: null, known: null, problem: null, others: true };
  const answered: [operation: string, status: number, ms: number | null][] = [];
  const stopping = new AbortController();
  const enter: FairTime['enter'] = (key, { isOver, waits }) =>
    new Promise((begin, refuse) => void held.push({ key, isOver, waits, begin, refuse }));
  const asked = route({
    id: 'listAudit',
    method: 'GET',
    path: '/v1/audit',
    scope: 'admin',
    tag: 'Tests',
    summary: 'Say that it ran',
    answer: { status: 200, schema: z.unknown(), description: 'It ran' },
    problems: [],
    run: async () => {
      ran.push('it');
      await gate.passed;
      if (gate.problem !== null) throw new ApiProblem(gate.problem, 'As the test says.');
      return null;
    },
  });
  const atOnce: CallerKey[] = [];
  const aborted: boolean[] = [];
  let bodies = 0;
  const looks: number[] = [];
  const waiting = route({
    id: 'getFanout',
    method: 'GET',
    path: '/v1/fanouts',
    scope: 'read',
    tag: 'Tests',
    summary: 'Wait for nothing',
    answer: { status: 200, schema: z.unknown(), description: 'It waited' },
    problems: [],
    waits: () => true,
    run: ({ signal, together }) => {
      const look = async (): Promise<string> => 'nothing';
      return waited({ look, again: together(look), isOver: () => false, waitS: WAIT_MS / 1_000, signal });
    },
  });
  const changing = route({
    id: 'openFanout',
    method: 'POST',
    path: '/v1/fanouts',
    scope: 'submit',
    tag: 'Tests',
    summary: 'Change nothing',
    answer: { status: 200, schema: z.unknown(), description: 'It changed' },
    problems: [],
    keyed: 'harmless',
    run: async ({ signal }) => {
      aborted.push(signal.aborted);
      return 'changed';
    },
  });
  const documents: object[] = [];
  const document = (): object => documents[documents.push({ openapi: '3.1.0' }) - 1]!;
  const [live, openapi] = ['live', 'openapi'].map((id) =>
    systemRoutes({ stopping: stopping.signal, metrics: () => null as never, document }).find((one) => one.id === id),
  );
  const admission = Object.assign(new Admission(DEFAULT_LIMITS), { waitingOf: () => 300 });
  const deps = {
    guard: {
      open: false,
      book: {
        find: async (token: string) => {
          await gate.known;
          return token === SECRET ? CALLER : null;
        },
        isEmpty: async () => false,
      },
    },
    limits: DEFAULT_LIMITS,
    metrics: { answered: (...one: (typeof answered)[number]) => void answered.push(one) },
    log: pino({ level: 'silent' }),
    keyPool,
    client: { pool: null, sealer: null, actingAs: (_: unknown, work: () => unknown) => work() },
    stopping: stopping.signal,
    costs: new Costs(),
    fair: {
      enter,
      enterAtOnce: (key: CallerKey) => (atOnce.push(key), STINT),
      isContended: (key: CallerKey) => gate.others && key === CALLER.id,
    },
    admission,
    looks: {
      next: async (_: string, ms: number, look: () => Promise<unknown>) => {
        looks.push(ms);
        await sleep(10);
        return look();
      },
    },
    validity: new Validity(async () => true),
    memory: {
      bodies: {
        enter: async () => {
          bodies++;
          await gate.passed;
          return () => undefined;
        },
      },
    },
  } as unknown as ServerDeps;
  const app = createServer([live!, openapi!, asked, waiting, changing], deps);
  await app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = app.server.address() as AddressInfo;
  const nextHeld = (): Promise<Held> => eventually(async () => held.shift(), { timeoutMs: 10_000 });
  return {
    app,
    port,
    admission,
    nextHeld,
    held,
    ran,
    gate,
    atOnce,
    aborted,
    bodies: () => bodies,
    looks,
    documents,
    answered,
    stopping,
    wire: new Wire(port),
  };
};
