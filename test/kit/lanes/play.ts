import type { AsynchronousDownstream } from '../asynchronous';
import type { Cargo } from '../scenario';
import type { LaneScenario, LaneStep } from './scenario';
import { serviceOf, TARGETS } from './scenario';

/** The verbs of a world with lanes. */
export interface LaneVerbs {
  submit(tasks: { id: string; payload: Cargo }[]): Promise<unknown>;
  submitBatches(
    batches: {
      service: string;
      items: { id: string; payload: Cargo }[];
      reads: string[];
      writes: string[];
      dependsOn: number[];
    }[],
  ): Promise<{ batch: number }[]>;
  complete(told: { reference: string; results: unknown[] }): Promise<unknown>;
  cancel(batch: number): Promise<unknown>;
  handler(kind: 'pause' | 'resume' | 'flush', target: string | null): Promise<unknown>;
  lane(step: Extract<LaneStep, { service: string }>, spare: { id: string; payload: Cargo }): Promise<unknown>;
  all(kind: 'pauseAll' | 'resumeAll'): Promise<unknown>;
  advance(ms: number): Promise<unknown>;
}

/** Long enough for every retry, look-up and deadline. */
const EPILOGUE_MS = 300_000;

/** Plays the steps of a scenario, and returns what each was refused with. */
export const playSteps = async (
  { steps }: LaneScenario,
  downstream: AsynchronousDownstream<Cargo>,
  verbs: LaneVerbs,
): Promise<(string | null)[]> => {
  const numbers: number[] = [];
  let next = 0;
  let isKnown = false;
  const itemOf = (payload: Cargo) => ({ id: `t${next++}`, payload });
  const toDo = async (one: LaneStep): Promise<unknown> => {
    switch (one.kind) {
      case 'submit':
        return verbs.submit(one.cargoes.map(itemOf));
      case 'batches': {
        const submitted = await verbs.submitBatches(
          one.batches.map(({ to, cargoes, reads, writes, after }) => ({
            ...{ service: serviceOf(to), reads, writes },
            items: cargoes.map((payload) => itemOf({ ...payload, to })),
            dependsOn: after.flatMap((back) => numbers.at(-back) ?? []),
          })),
        );
        return numbers.push(...submitted.map(({ batch }) => batch));
      }
      case 'advance':
        return verbs.advance(one.ms);
      case 'complete': {
        const oldest = downstream.takeOldest();
        return oldest === null ? null : verbs.complete(oldest);
      }
      case 'cancel': {
        const batch = numbers.at(-one.back);
        return batch === undefined ? null : verbs.cancel(batch);
      }
      case 'pause':
      case 'resume':
      case 'flush':
        if (!isKnown) return null; // an operator cannot name a handler to which no task has come
        return verbs.handler(one.kind, one.target);
      case 'pauseAll':
      case 'resumeAll':
        return verbs.all(one.kind);
      default:
        return verbs.lane(one, itemOf({ ...PLAIN, to: TARGETS.find((to) => serviceOf(to) === one.service)! }));
    }
  };
  const refusals: (string | null)[] = [];
  for (const one of steps)
    refusals.push(
      await toDo(one).then(
        () => {
          isKnown ||= one.kind === 'submit' || one.kind === 'batches';
          return null;
        },
        (error: unknown) => refusalOf(error),
      ),
    );
  await verbs.all('resumeAll');
  await verbs.advance(EPILOGUE_MS);
  return refusals;
};

const PLAIN: Cargo = {
  ...{ to: 'se', key: 'a', bytes: 1, weight: 1, answers: [], later: 0, poison: false, throws: 0 },
  accepted: { pending: 0, then: 'done', missing: 0 },
};

/** A refusal names its code; any other error is the test's failure. */
const refusalOf = (error: unknown): string => {
  const { code, message } = error as { code?: string; message: string };
  // A verb of a world says so without a code.
  if (message.startsWith('Cannot find the target')) return 'NOT_FOUND';
  if (code === undefined) throw error;
  return code;
};
