import * as v from 'valibot';
import { z } from 'zod';
import type { Contract } from '../../handlers';
import { checkHandlers, defineContract, defineHandler, implement, isContract, isHandler } from '../../handlers';
import { AsyncSchema, parsePayload, payloadBy } from '../../handlers/contracts/schema';
import { faultsIn, problemsIn } from './build';

const submit = async () => ({ results: [] });
const agreement = {
  name: 'orders',
  schema: z.object({ shop: z.string(), n: z.coerce.number<string>() }),
  target: (order: { shop: string; n: number }) => order.shop,
  weightOf: (order: { n: number }) => order.n,
  limits: { maxItems: 100, maxWeight: 1_000 },
};

/** A handler without its functions, by which two can be compared. */
const settingsOf = (handler: object) => JSON.parse(JSON.stringify(handler)) as unknown;

describe('a contract', () => {
  test('and its implementation are what defineHandler makes of both at once', () => {
    const contract = defineContract(agreement);
    const calls = { timeoutMs: 5_000, retry: { maxAttempts: 3 }, linger: { lingerMs: 10 }, submit };
    const handler = implement(contract, calls);
    const short = defineHandler({ ...agreement, ...calls });
    expect(settingsOf(handler)).toEqual(settingsOf(short));
    expect(Object.keys(handler).sort()).toEqual(Object.keys(short).sort());
    expect([handler.target({ shop: 'se', n: 2 }), handler.weightOf({ shop: 'se', n: 2 })]).toEqual(['se', 2]);
    expect(handler.submit).toBe(submit);
    expect([isHandler(handler), isContract(handler), isHandler(contract), isContract(contract)]).toEqual([
      ...[true, true, false, true],
    ]);
    expect([Object.isFrozen(contract), Object.isFrozen(handler)]).toEqual([true, true]);
  });

  test('needs only the function that makes the calls', () => {
    const handler = implement(defineContract({ ...agreement, lane: {} }), submit);
    expect(handler).toMatchObject({ ordered: true, timeoutMs: 15_000, bisect: true });
    expect(implement(defineContract(agreement), submit)).toMatchObject({
      timeoutMs: 30_000,
      concurrency: { perTarget: 4, perHandler: 32 },
    });
  });

  test('has no settings of calls, and an implementation none of the contract', () => {
    const contract = defineContract(agreement);
    expect(problemsIn(() => defineContract({ ...agreement, submit } as never))).toEqual([
      expect.stringMatching(/^submit: unknown setting/),
    ]);
    expect(problemsIn(() => implement(contract, { submit, limits: { maxItems: 1 } } as never))).toEqual([
      expect.stringMatching(/^limits: unknown setting/),
    ]);
    expect(problemsIn(() => implement(contract, {} as never))).toEqual([
      'submit: expected a function (batch, context) => answer, got nothing',
    ]);
    expect(problemsIn(() => implement(contract, { submit, status: async () => [] }))).toEqual([
      expect.stringMatching(/^status: expected results beside it/),
    ]);
    expect(problemsIn(() => implement({ name: 'orders' } as never, submit))).toEqual([
      expect.stringMatching(/^contract: expected what defineContract returns, got \{/),
    ]);
  });

  test('with lanes is implemented without a limit that handlers share', () => {
    const how = { submit, sharesLimit: { name: 'key', concurrency: 2 } };
    const refused = (more: object) => problemsIn(() => implement(defineContract({ ...agreement, ...more }), how));
    expect(refused({ service: () => 's' })).toEqual([
      expect.stringMatching(/^sharesLimit: expected none beside service, got .*: lanes share no limit; set rate/),
    ]);
    expect(refused({ lane: {} })).toEqual([expect.stringMatching(/^sharesLimit: expected none beside lane, got/)]);
    expect(refused({})).toEqual([]);
  });

  test('is no handler: a config file that lists it is told what is missing', () => {
    const contract = defineContract(agreement);
    const says =
      'handlers.0: expected a handler, got the contract alone: give what implement(contract, submit) returns';
    expect(problemsIn(() => checkHandlers([contract]))).toEqual([says]);
    expect(problemsIn(() => checkHandlers(contract))).toEqual([says]);
  });
});

const ofZod = z.object({ shop: z.string(), n: z.string().regex(/^\d+$/).transform(Number) });
const ofValibot = v.object({ shop: v.string(), n: v.pipe(v.string(), v.digits(), v.transform(Number)) });
/** This library has only an ES module. */
const ofArktype = async () => (await import('arktype')).type({ shop: 'string', n: 'string.numeric.parse' });

const limits = { maxItems: 1 };
type Typed = Contract<{ shop: string; n: number }, { shop: string; n: string }>;

/** The same payload in three libraries: a number that is submitted as text. */
const contracts: readonly (readonly [string, () => Promise<Typed>])[] = [
  ['zod', async () => defineContract({ name: 'a', schema: ofZod, target: ({ n }) => n.toFixed(0), limits })],
  ['valibot', async () => defineContract({ name: 'b', schema: ofValibot, target: ({ n }) => n.toFixed(0), limits })],
  [
    'arktype',
    async () => defineContract({ name: 'c', schema: await ofArktype(), target: ({ n }) => n.toFixed(0), limits }),
  ],
];

describe.each(contracts)('a schema of %s', (_, make) => {
  test('checks and transforms', async () => {
    const contract = await make();
    expect(payloadBy(contract.schema, { shop: 'se', n: '7' })).toEqual({ shop: 'se', n: 7 });
    expect(faultsIn(contract, { shop: 'se', n: '7' })).toEqual([]);
  });

  test('names the wrong field', async () => {
    const contract = await make();
    expect(faultsIn(contract, { shop: 'se', n: 'x' })).toEqual([expect.stringMatching(/^n: ./)]);
    expect(faultsIn(contract, { n: '1' })).toEqual([expect.stringMatching(/^shop: ./)]);
    expect(() => payloadBy(contract.schema, { shop: 'se', n: 'x' })).toThrow(/payload\.n: /);
  });
});

test('the types of payloads are those of the schema, before and after it', () => {
  const contract = defineContract({ name: 'b', schema: ofValibot, target: ({ n }) => n.toFixed(0), limits });
  const handler = implement(contract, async ({ tasks }) => ({
    results: tasks.map(({ id, payload }) => ({ id, status: 'ok', result: payload.n.toFixed(0) })),
  }));
  const untyped: readonly Contract[] = [contract, handler satisfies Typed];
  // @ts-expect-error: what is submitted is text
  const wrong: Contract<{ shop: string; n: number }> = contract;
  expect(untyped.map(({ name }) => name)).toEqual(['b', wrong.name]);
});

test.each([{ issues: [] }, { value: 'x', issues: [] }])(
  'a schema that refuses and names no issue is told as such: %j',
  (answer) => {
    const schema = { '~standard': { version: 1, vendor: 'by hand', validate: () => answer } } as never;
    expect(faultsIn({ schema }, 'x')).toEqual([expect.stringContaining('names no issue')]);
    expect(() => payloadBy(schema, 'x')).toThrow('payload: the schema refuses it and names no issue');
  },
);

describe('a schema that answers asynchronously is refused', () => {
  test.each([
    ['zod', z.string().refine(async () => true)],
    [
      'valibot',
      v.pipeAsync(
        v.string(),
        v.checkAsync(async () => Promise.reject(new Error('late'))),
      ),
    ],
  ])('%s', (_, schema) => {
    expect(() => parsePayload(schema, 'x')).toThrow(AsyncSchema);
  });

  test('but one that throws is told as such', () => {
    const throws = () => {
      throw new Error('boom');
    };
    expect(() => parsePayload(z.string().refine(throws), 'x')).toThrow('boom');
    expect(() => parsePayload(v.pipe(v.string(), v.check(throws)), 'x')).toThrow('boom');
  });
});

test('anything else is no schema', () => {
  for (const schema of [{}, () => true, 'string', { type: 'object' }])
    expect(problemsIn(() => defineContract({ ...agreement, schema: schema as never }))).toEqual([
      expect.stringMatching(/^schema: expected a schema of zod, valibot, arktype or another library/),
    ]);
});
