import { runTrial } from './trial';

/**
 * The fan-out example in short: real queue, consumers killed in turns, acks twice, exactly one
 * completion. The long form: `npm run example:fanout`.
 *
 * @full
 */

test('under kills, redelivery and double acks: exactly one completion, all items acked', async () => {
  const result = await runTrial('fanout', [
    '--items',
    '60000',
    '--consumers',
    '3',
    '--kill-every',
    '50ms',
    '--visibility-ms',
    '1500',
  ]);
  expect(result).toMatchObject({
    items: 60_000,
    state: 'complete',
    events: 1,
    messages: 1,
    messageUserKey: 'the million',
    isExactlyOnce: true,
    isWhole: true,
    code: 0,
  });
  expect(result['kills']).toBeGreaterThan(0);
  expect(result['redelivered']).toBeGreaterThan(0);
  expect(result['idsAcked']).toBeGreaterThan(60_000);
});
