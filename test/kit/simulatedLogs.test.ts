import { defineHandler } from '../../handlers';
import { simulate } from '../../workers/testing';

test('what a handler logs, in calls, look-ups and polls, goes to the given logger with its batch', async () => {
  const lines: unknown[] = [];
  const line = (fields: object | string) => void lines.push(fields);
  const log = { debug: line, info: line, warn: line, error: line };
  const world = simulate(
    defineHandler<{ to: string }>({
      name: 'parcels',
      target: ({ to }) => to,
      limits: { maxItems: 3 },
      linger: { lingerMs: 0 },
      poll: { everyMs: 1_000, deadlineMs: 10_000 },
      submit: async ({ attempt }, context) => {
        context.log.info({ in: 'submit' }, 'calling');
        if (attempt === 1) throw new Error('the connection broke');
        return { status: 'accepted', reference: 'job' };
      },
      reconcile: async (_, context) => (context.log.warn({ in: 'reconcile' }), { status: 'absent' }),
      status: async ([reference], context) => {
        context.log.debug({ in: 'status' });
        return [{ reference: reference!, status: 'done' }];
      },
      results: async (_, context) => (context.log.error({ in: 'results' }), [{ id: 'a1', status: 'ok' }]),
    }),
    { log },
  );
  await world.submit({ id: 'a1', payload: { to: 'a' } });
  await world.advance('1 hour');
  const call = { handler: 'parcels', target: 'a', batch: 1 };
  expect(lines).toEqual([
    { ...call, attempt: 1, in: 'submit' },
    { ...call, attempt: 1, in: 'reconcile' },
    { ...call, attempt: 2, in: 'submit' },
    { handler: 'parcels', in: 'status' },
    { ...call, attempt: 3, in: 'results' }, // of the look that reads them
  ]);
});
