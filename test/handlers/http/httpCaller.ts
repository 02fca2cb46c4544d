import type { Batch, ResultSink } from '../../../handlers';
import { callHandler, httpHandler } from '../../../handlers';
import type { CallOutcome } from '../../../workflows/planning/calls/plans';
import { batchOf, buildContext, remember } from '../build';
import type { Answer, Downstream } from '../downstream';
import { startDownstream } from '../downstream';
import { httpConfig } from './httpConfig';

/** The environment that secrets come from. */
const env = { TOKEN: 's3cret-value' };
/** Three tasks, `t0` to `t2`. */
export const batch: Batch = batchOf(3);
/** An answer's body: one result a status, by id. */
export const items = (...statuses: unknown[]) => ({ results: statuses.map((status, n) => ({ id: `t${n}`, status })) });

interface HttpCaller {
  readonly downstream: Downstream;
  /** One call of an http handler whose downstream answers so. */
  call(
    answer: Answer,
    changes?: Record<string, unknown>,
    context?: ReturnType<typeof buildContext>,
    sink?: ResultSink,
  ): Promise<CallOutcome>;
}

/** A downstream for the tests of one file, forgetting what it saw before each. */
export function httpCaller(): HttpCaller {
  let downstream: Downstream;
  beforeAll(async () => {
    downstream = await startDownstream();
  });
  afterAll(() => downstream.close());
  beforeEach(() => {
    downstream.seen.length = 0;
  });
  return {
    get downstream() {
      return downstream;
    },
    call: async (answer, changes = {}, context = buildContext(), sink = remember()) => {
      downstream.answer = answer;
      return await callHandler(httpHandler(httpConfig(downstream.url, changes), { env }), batch, context, sink);
    },
  };
}
