import { defineHandler } from '../../handlers';
import type { Batch, CallContext, Handler, HandlerOptions, SubmitAnswer } from '../../handlers';

/** A downstream in this process that keeps what came, in its order. */
export interface Edit {
  service: string;
  price?: number;
  reads?: string[];
  writes?: string[];
}
export interface Seen {
  batch: number;
  service: string;
  ids: string[];
  attempt: number;
  key: string;
  at: number;
  dependsOn?: Batch['dependsOn'];
}
export class Downstream {
  readonly seen: Seen[] = [];
  /** Ids of what was accepted, by reference. */
  readonly results = new Map<string, string[]>();
  /** What it answers; by default everything is ok. */
  answer: (batch: Batch<Edit>, context: CallContext, times: number) => Promise<SubmitAnswer> | SubmitAnswer = (batch) =>
    okay(batch);
  inFlight = 0;
  mostInFlight = 0;

  handler(options: Partial<HandlerOptions<Edit>> = {}): Handler {
    return defineHandler<Edit>({
      name: 'edits',
      target: (edit) => edit.service,
      limits: { maxItems: 100 },
      linger: { lingerMs: 20 },
      idempotency: { by: 'batch' },
      reads: (edit) => edit.reads ?? [],
      writes: (edit) => edit.writes ?? [],
      lane: {},
      submit: async (batch, context) => {
        this.inFlight++;
        this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
        try {
          const times = this.seen.filter(({ batch: id }) => id === Number(batch.id)).length;
          this.seen.push({
            batch: Number(batch.id),
            service: batch.target,
            ids: batch.tasks.map(({ id }) => id),
            attempt: batch.attempt,
            key: context.idempotencyKey,
            at: performance.now(),
            ...(batch.dependsOn === undefined ? {} : { dependsOn: batch.dependsOn }),
          });
          return await this.answer(batch, context, times);
        } finally {
          this.inFlight--;
        }
      },
      ...options,
    });
  }
}
export const okay = (batch: Batch): SubmitAnswer => ({
  results: batch.tasks.map(({ id }) => ({ id, status: 'ok' as const })),
});

let number = 0;
/** Items with ids of their own. */
export const items = (service: string, n = 1, more: Partial<Edit> = {}): { id: string; payload: Edit }[] =>
  Array.from({ length: n }, () => ({ id: `${service}/${++number}`, payload: { service, ...more } }));
