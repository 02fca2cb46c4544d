import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { ConfigError } from '../configError';
import type { BatchTask } from '../contract';
import { describeThrown } from '../text';
import { payloadBy } from '../contracts/schema';
import type { Handler } from '../types';
import type { Case, Seen } from './case';
import { idOf, tasksOf } from './case';
import { CASES } from './cases';
import { Drive } from './drive';
import { effectsProblem } from './effects';
import { FakeDownstream } from './fake';
import type { Trial } from './trial';
import { markOf } from './trial';
import { inTurn } from './turn';

/** What became of one case. */
export interface CaseResult {
  readonly name: string;
  readonly room: Case['room'];
  /** `skipped`: it does not apply, as `why` says. */
  readonly status: 'passed' | 'failed' | 'skipped';
  readonly why?: string;
  readonly ms: number;
}

/** The grade of a handler: `passed` of `run` cases, and what each of them showed. */
export interface Certificate {
  readonly handler: string;
  readonly passed: number;
  readonly run: number;
  readonly skipped: number;
  /** Every case that applies was passed, and they are enough. */
  readonly certified: boolean;
  readonly cases: readonly CaseResult[];
}

/** Fewest cases that must apply for a certificate. */
export const CASES_MIN = 40;
/** Longest call of a case that does not say otherwise, in milliseconds. */
const CALL_MS = 10_000;

/**
 * Drives a handler through all cases, one after the other, each with a new fake downstream on
 * loopback, and returns its grade. The calls go nowhere else. Throws `ConfigError` if the
 * handler has no `trial`.
 */
export async function certifyHandler({ name, trial: create }: Handler): Promise<Certificate> {
  if (create === undefined)
    throw new ConfigError(`handler "${name}"`, [
      {
        path: 'trial',
        message:
          'expected a function that returns a trial, got nothing: sinks bring one, ' +
          'handlers in JSON need a sample; see docs/sinks.md',
      },
    ]);
  const trial = create();
  const cases: CaseResult[] = [];
  for (const one of CASES) {
    const begun = performance.now();
    const { status, why } = await judged(one, trial);
    cases.push({ name: one.name, room: one.room, status, why, ms: Math.round(performance.now() - begun) });
  }
  const count = (status: CaseResult['status']): number => cases.filter((one) => one.status === status).length;
  const passed = count('passed');
  const run = passed + count('failed');
  return {
    handler: name,
    passed,
    run,
    skipped: count('skipped'),
    certified: passed === run && run >= CASES_MIN,
    cases,
  };
}

async function judged(one: Case, trial: Trial<Handler>): Promise<Pick<CaseResult, 'status' | 'why'>> {
  const wire = trial.wire();
  const fake = new FakeDownstream(wire, one.script ?? inTurn());
  const address = await fake.start();
  try {
    const handler = trial.at(one.isUnreachable === true ? await closedAddress() : address);
    const skipped = one.skips?.(wire, handler);
    if (skipped !== undefined) return { status: 'skipped', why: skipped };
    const tasks = tasksFor(one, trial, handler);
    const driven = await driveCase(one, handler, tasks);
    const seen: Seen = {
      ...driven,
      handler,
      wire,
      calls: fake.calls,
      effects: new Map(tasks.map(({ id }, place) => [id, fake.ledger.of(markOf(place))])),
      countedBytes: tasks.reduce(
        (sum, { id, payload }) => sum + handler.bytesOf(payload, id),
        handler.limits.overheadBytes,
      ),
    };
    const why = problemOf(one, seen, fake);
    return why === undefined ? { status: 'passed' } : { status: 'failed', why };
  } catch (error) {
    return { status: 'failed', why: `the case could not be run: ${describeThrown(error).replaceAll(/\s+/g, ' ')}` };
  } finally {
    await fake.stop();
  }
}

function problemOf(one: Case, seen: Seen, fake: FakeDownstream): string | undefined {
  if (fake.unreadable.length > 0) return `the downstream could not read a request: ${fake.unreadable[0]}`;
  const why = one.judge(seen);
  if (why !== undefined || one.isUnreachable === true) return why;
  return effectsProblem(seen, one);
}

function tasksFor(one: Case, trial: Trial<Handler>, handler: Handler): BatchTask[] {
  return Array.from({ length: tasksOf(one, handler) }, (_, place) => {
    const payload = payloadBy(handler.schema, trial.payload(`${markOf(place)} ${one.text ?? ''}`));
    return { id: idOf(place), payload, attempts: 0 };
  });
}

function driveCase(one: Case, handler: Handler, tasks: readonly BatchTask[]) {
  const make = (key: string) => new Drive(handler, { timeoutMs: CALL_MS, key: `muster-certify-${key}`, ...one.drive });
  if (one.run !== undefined) return one.run(make, tasks);
  return make('case').run(tasks);
}

/** Returns an address at which nothing listens: a port that was free a moment ago. */
async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
