import { z } from 'zod';
import { checkHandlers, ConfigError, defineHandler, httpHandler, isHandler } from '../../handlers';
import type { HandlerOptions } from '../../handlers';
import { payloadBy } from '../../handlers/contracts/schema';
import { options, problemsIn } from './build';

const good = options(() => ({ results: [] }));
const define = (changes: object) => problemsIn(() => defineHandler({ ...good, ...changes }));

describe('the defaults', () => {
  test('are those that types.ts and docs/systems promise', () => {
    expect(defineHandler(good)).toMatchObject({
      name: 'orders',
      description: '',
      limits: { maxItems: 100, overheadBytes: 0, minItems: 1, maxWeightInFlight: {} },
      linger: { lingerMs: 1_000, quietPeriodMs: undefined },
      concurrency: { perTarget: 4, perHandler: 32 },
      rates: [],
      retry: { inPlace: { times: 2, baseMs: 250 }, delayed: { baseMs: 1_000, maxMs: 300_000 }, maxAttempts: 10 },
      timeoutMs: 30_000,
      idempotency: 'none',
      onUnknown: 'park',
      bisect: true,
      absentAfterMs: 0,
      poll: { everyMs: 5_000, deadlineMs: 86_400_000, idleMs: 300_000 },
      leaders: 'auto',
      maxQueued: {},
      retentionMs: 604_800_000,
      maxPayloadBytes: 262_144,
      payloadVersion: 1,
    });
  });

  test('count bytes as UTF-8 of the JSON and weigh each task 1', () => {
    const handler = defineHandler(good);
    expect(handler.bytesOf({ a: 'ü' }, 'id')).toBe(10);
    expect(handler.bytesOf(undefined, 'id')).toBe(4);
    expect(handler.weightOf({})).toBe(1);
    expect(payloadBy(handler.schema, { any: 'thing' })).toEqual({ any: 'thing' });
  });

  test('give way to what was said: rates become a list, a short maximum shortens the base', () => {
    const handler = defineHandler({
      ...good,
      rate: { limit: 10, perMs: 1_000, unit: 'calls' },
      retry: { delayed: { maxMs: 500 } },
      poll: { deadlineMs: 1_000 },
      status: async () => [],
      results: () => [],
    });
    expect(handler.rates).toEqual([{ limit: 10, perMs: 1_000, unit: 'calls', scope: 'handler' }]);
    expect(handler.retry.delayed).toEqual({ baseMs: 500, maxMs: 500 });
    expect(handler.poll).toEqual({ everyMs: 1_000, deadlineMs: 1_000, idleMs: 300_000 });
    expect(defineHandler({ ...good, retry: { delayed: { baseMs: 400_000 } } }).retry.delayed.maxMs).toBe(400_000);
  });

  test('leave a handler that cannot be changed afterwards', () => {
    const handler = defineHandler(good);
    expect(isHandler(handler)).toBe(true);
    expect(Object.isFrozen(handler)).toBe(true);
    expect(isHandler({ ...handler })).toBe(false);
  });
});

const keyed = (): string => 'k';

describe('problems', () => {
  test('are all listed at once, each with its path, what was expected and what came (H10)', () => {
    const make = () =>
      defineHandler({
        name: 'has space',
        limits: { maxItems: 0, minItems: 5, maxItem: 3 },
        linger: { lingerMs: 2_592_000_001 },
        leaders: 1_025,
        timeoutMs: '30s',
        idempotency: { by: 'call' },
        rate: [{ limit: 0, perMs: 1_000, unit: 'calls' }],
        submitt: () => undefined,
        onUnknown: 'drop',
      } as unknown as HandlerOptions);
    const problems = problemsIn(make);
    expect(problems).toEqual(
      expect.arrayContaining([
        'name: expected 1-64 characters of a-z, A-Z, 0-9, _, - and ., not . or .. alone, got "has space"',
        'limits.maxItems: expected a whole number of tasks from 1 to 100,000, got 0',
        'limits.maxItem: unknown setting; did you mean "maxItems"?',
        'limits.minItems: expected at most limits.maxItems (0), got 5: a batch could never be closed by its size',
        'linger.lingerMs: expected a whole number of milliseconds from 0 to 2,592,000,000, got 2592000001',
        'leaders: expected a whole number of leaders from 1 to 1,024, got 1025',
        'timeoutMs: expected a whole number of milliseconds from 1 to 86,400,000, got "30s"',
        "idempotency.by: expected 'batch' or 'task', got \"call\"",
        'rate.0.limit: expected a number above 0, got 0',
        'submitt: unknown setting; did you mean "submit"?',
        "onUnknown: expected 'park' or 'resend', got \"drop\"",
        'target: expected a function (payload) => string, the batch key, got nothing',
        'submit: expected a function (batch, context) => answer, got nothing',
      ]),
    );
    expect(problems).toHaveLength(13);
    expect(make).toThrow(/^handler "has space": 13 problems\n {2}name: expected/);
    expect(make).toThrow(ConfigError);
    expect(make).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }));
  });

  test.each([
    [{ name: '.' }, 'name'],
    [{ name: '..' }, 'name'],
    [{ limits: { maxItems: 2.5 } }, 'limits.maxItems'],
    [{ limits: { maxItems: 100_001 } }, 'limits.maxItems'],
    [{ limits: undefined }, 'limits'],
    [{ limits: { maxItems: 10, maxBytes: 100, overheadBytes: 200 } }, 'limits.overheadBytes'],
    [{ limits: { maxItems: 10, maxWeight: 50, maxWeightInFlight: { perTarget: 40 } } }, 'limits.maxWeight'],
    [{ limits: { maxItems: 10, maxWeight: 50, maxWeightInFlight: { perHandler: 40 } } }, 'limits.maxWeight'],
    [{ linger: { lingerMs: -1 } }, 'linger.lingerMs'],
    [{ linger: { lingerMs: NaN } }, 'linger.lingerMs'],
    [{ leaders: 0 }, 'leaders'],
    [{ leaders: 'many' }, 'leaders'],
    [{ idempotency: { by: 'task', windowMs: 0 } }, 'idempotency.windowMs'],
    [{ idempotency: 'batch' }, 'idempotency'],
    [{ rate: { limit: 1, perMs: 1, unit: 'bytes' } }, 'rate.unit'],
    [{ retry: { delayed: { baseMs: 10, maxMs: 5 } } }, 'retry.delayed.baseMs'],
    [{ retry: { maxAttempts: 0 } }, 'retry.maxAttempts'],
    [{ poll: { everyMs: 5 } }, 'poll'],
    [{ status: async () => [] }, 'status'],
    [{ absentAfterMs: 5 }, 'absentAfterMs'],
    [{ schema: { type: 'object' } }, 'schema'],
    [{ maxPayloadBytes: null }, 'maxPayloadBytes'],
    [{ payloadVersion: 0 }, 'payloadVersion'],
    [{ payloadVersion: 1_000_001 }, 'payloadVersion'],
    [{ upcast: 2 }, 'upcast'],
    [{ bisect: 'yes' }, 'bisect'],
    [{ coalesceBy: 'key' }, 'coalesceBy'],
    [{ coalesceBy: keyed, distinctBy: keyed }, 'coalesceBy'],
    [{ coalesceBy: keyed, service: () => 's' }, 'coalesceBy'],
    [{ coalesceBy: keyed, lane: {} }, 'coalesceBy'],
  ])('%j is refused at %s', (changes, path) => {
    const problems = define(changes);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatch(new RegExp(`^${path.replaceAll('.', '\\.')}: expected .*got`));
  });

  test.each(['service', 'lane', 'service lane'])('a shared limit is refused, once, beside %s', (names) => {
    const order = {
      ...(names.includes('service') ? { service: keyed } : {}),
      ...(names.includes('lane') ? { lane: {} } : {}),
    };
    expect(define({ sharesLimit: { name: 'key' }, ...order })).toEqual([
      expect.stringMatching(/^sharesLimit: expected none beside (service|lane), got/),
    ]);
  });

  test.each([undefined, null, 5, 'x', []])('%j instead of options is one problem', (value) => {
    expect(problemsIn(() => defineHandler(value as unknown as HandlerOptions))[0]).toMatch(
      /^: expected an object, got/,
    );
  });

  test('defineHandler accepts everything that types.ts allows', () => {
    const full: HandlerOptions<{ to: string }> = {
      name: 'a.b_c-D9',
      description: 'all of it',
      schema: z.object({ to: z.string() }),
      target: ({ to }) => to,
      bytesOf: () => 1,
      weightOf: () => 2,
      distinctBy: ({ to }) => to,
      limits: {
        maxItems: 100_000,
        maxBytes: 10,
        overheadBytes: 0,
        maxWeight: 5,
        minItems: 2,
        maxWeightInFlight: { perTarget: 5, perHandler: 9 },
      },
      linger: { lingerMs: 0, quietPeriodMs: 10 },
      concurrency: { perTarget: 1, perHandler: 1 },
      rate: [{ limit: 0.5, perMs: 1_000, unit: 'weight', scope: 'target' }],
      retry: { inPlace: { times: 0, baseMs: 0 }, delayed: { baseMs: 1, maxMs: 2 }, maxAttempts: 1 },
      timeoutMs: 1,
      idempotency: { by: 'task', windowMs: 5 },
      onUnknown: 'resend',
      bisect: false,
      submit: async () => ({ results: [] }),
      status: async () => [],
      results: () => [],
      cancel: async () => undefined,
      reconcile: async () => ({ status: 'unsure' }),
      absentAfterMs: 5,
      poll: { everyMs: 5, deadlineMs: 10, idleMs: 5 },
      leaders: 1_024,
      maxQueued: { perTarget: 1, perHandler: 2 },
      retentionMs: 5,
      maxPayloadBytes: 5,
    };
    expect(defineHandler(full)).toMatchObject({ leaders: 1_024, absentAfterMs: 5 });
  });
});

describe('checkHandlers', () => {
  const orders = defineHandler(good);
  const http = {
    kind: 'http',
    name: 'hooks',
    target: 'to',
    limits: { maxItems: 5 },
    request: { url: 'http://localhost/x' },
    response: { perItem: false },
  };

  test.each([
    ['an array', [orders]],
    ['{handlers}', { handlers: [orders] }],
    ['a default export', { default: [orders] }],
    ['a default export of {handlers}', { default: { handlers: [orders] } }],
    ['a module of a module', { __esModule: true, default: { default: { handlers: [orders] } } }],
  ])('finds the handlers in %s', (_, value) => {
    expect(checkHandlers(value)).toEqual([orders]);
  });

  test('makes handlers of plain options and of JSON', () => {
    const handlers = checkHandlers([good, http]);
    expect(handlers.map(({ name }) => name)).toEqual(['orders', 'hooks']);
    expect(handlers.every(isHandler)).toBe(true);
  });

  test('refuses a name given twice and lists the problems of all handlers with their places', () => {
    const problems = problemsIn(() =>
      checkHandlers({ handlers: [orders, { ...good, limits: {} }, { ...http, target: 'a..b' }, good, 7] }),
    );
    expect(problems).toEqual([
      'handlers.1.limits.maxItems: expected a whole number of tasks from 1 to 100,000, got nothing',
      expect.stringContaining('handlers.2.target: expected names with single dots'),
      'handlers.3.name: expected a unique name, got "orders" as in handlers.0',
      'handlers.4: expected an object, got 7',
    ]);
  });

  test.each([undefined, null, [], {}, { handlers: [] }, 'x', { default: 5 }])(
    'refuses %j, which lists none',
    (value) => {
      expect(problemsIn(() => checkHandlers(value))).toEqual([
        expect.stringMatching(/^handlers: expected an array of handlers/),
      ]);
    },
  );

  test('does not show what a wrong file contains', () => {
    const problems = problemsIn(() =>
      checkHandlers({ handler: [{ request: { headers: { authorization: 'Bearer s3cret' } } }] }),
    );
    expect(problems.join()).toContain('an object with handler');
    expect(problems.join()).not.toContain('s3cret');
  });

  test('hands the environment on', () => {
    const secret = { ...http, request: { url: 'http://localhost/x', headers: { authorization: { env: 'TOKEN' } } } };
    expect(checkHandlers([secret], { env: { TOKEN: 'x' } })).toHaveLength(1);
    expect(problemsIn(() => checkHandlers([secret]))[0]).toContain('environment variable TOKEN');
    expect(problemsIn(() => httpHandler(secret, { env: {} }))[0]).toContain('environment variable TOKEN');
  });
});
