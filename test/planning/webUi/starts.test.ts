import fc from 'fast-check';
import { withDashboardLinks } from '../../../workflows/dashboardLinks';
import type { MusterMemo, ShownStart } from '../../../workflows/planning/webUi/starts';
import * as starts from '../../../workflows/planning/webUi/starts';

/** What a workflow shows from its start on, whatever callers chose as names. */

const all = (name: string): ShownStart[] => [
  starts.leaderStart({ handler: 'h'.repeat(64), name }),
  starts.queuerStart(2_147_483_647),
  starts.executionStart(name),
  starts.monitorStart('h'.repeat(64)),
  starts.notifierStart(),
  starts.balancerStart(),
  starts.completionStart('h'.repeat(64), 1_000),
  starts.completionStart('h'.repeat(64), null),
  starts.timerProbeStart(),
];

test('a summary is one line that a server takes, and no name is read as Markdown', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (name) => {
      for (const { staticSummary, staticDetails, memo } of all(name)) {
        expect(Buffer.byteLength(staticSummary)).toBeLessThanOrEqual(400);
        expect(staticSummary).toMatch(/^[^\n\r`<>[\]]+$/);
        expect(staticSummary.isWellFormed() && staticDetails.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(staticDetails)).toBeLessThan(1_000);
        expect(staticDetails.split('\n').length).toBeLessThanOrEqual(6);
        expect(staticDetails).not.toMatch(/[<\]]\(|<script/);
        expect(Object.keys(memo)[0]).toBe('muster');
      }
    }),
  );
});

test('each says what it is, and the commands that tell more', () => {
  const shown = [starts.leaderStart({ handler: 'orders', name: '2' }), ...all('n').slice(1)];
  const of = (text: string): string[] => [...text.matchAll(/`(muster [^`]*)`/g)].map(([, command]) => command!);
  expect(shown.map(({ staticDetails }) => of(staticDetails))).toEqual([
    ['muster status orders', 'muster explain <task>'],
    ['muster queuer', 'muster lane <service>'],
    ['muster execution n'],
    ['muster batch <number>'],
    ['muster callbacks'],
    ['muster partitions', 'muster nodes'],
    ['muster batch <number>'],
    ['muster batch <number>'],
    ['muster doctor'],
  ]);
  expect(shown.slice(5, 8).map(({ staticSummary }) => staticSummary)).toEqual([
    'Spreads partitions over the nodes',
    'What became of 1000 batches of ' + 'h'.repeat(64),
    'Reads the completions left by an ended monitor of ' + 'h'.repeat(64),
  ]);
});

test.each<[Partial<MusterMemo>, string | null]>([
  [{ muster: 'leader', handler: 'orders', set: '2' }, '#/handlers/orders'],
  [{ muster: 'monitor', handler: 'orders' }, '#/handlers/orders'],
  [{ muster: 'completion', handler: 'a/b' }, '#/handlers/a%2Fb'],
  [{ muster: 'execution', execution: 'nightly #1' }, '#/executions/nightly%20%231'],
  [{ muster: 'queuer', queuer: 0 }, '#/lanes'],
  [{ muster: 'notifier' }, '#/callbacks'],
  [{ muster: 'balancer' }, '#/nodes'],
  [{ muster: 'timer-probe' }, null],
  [{}, null],
])('%j is seen at %s', (memo, page) => {
  expect(starts.pageOf(memo)).toBe(page);
});

describe('links to the dashboard', () => {
  const start = async (url: string | undefined, options: object, given?: object): Promise<unknown> => {
    const { workflow } = withDashboardLinks(url, given) ?? {};
    let input = { options } as never;
    for (const one of (workflow ?? []) as { signalWithStart?: (input: unknown, next: unknown) => unknown }[])
      await one.signalWithStart?.(input, (next: never) => void (input = next));
    return (input as { options: unknown }).options;
  };
  const { memo, staticDetails } = starts.monitorStart('orders');

  test('are in the details and in the memo', async () => {
    const dashboard = 'https://m.example.com/sub/#/handlers/orders';
    expect(await start('https://m.example.com/sub//', { memo, staticDetails })).toEqual({
      memo: { ...memo, dashboard },
      staticDetails: `${staticDetails}\n\n[Open in the dashboard](${dashboard})`,
    });
  });

  test('are not there without an address, nor for other workflows', async () => {
    expect(await start(undefined, { memo, staticDetails })).toEqual({ memo, staticDetails });
    expect(await start('https://m.example.com', { memo: { other: 1 } })).toEqual({ memo: { other: 1 } });
    expect(await start('https://m.example.com', {})).toEqual({});
  });

  test('what goes to Temporal is encoded: there is no memo, which no list could read', async () => {
    const options = { memo, staticDetails, taskQueue: 'q' };
    const [one] = withDashboardLinks(undefined, undefined, { payloadCodecs: [{} as never] })!.workflow as {
      signalWithStart: (input: unknown, next: (input: unknown) => unknown) => unknown;
    }[];
    expect(one!.signalWithStart({ options }, (input) => input)).toEqual({ options: { staticDetails, taskQueue: 'q' } });
    expect(withDashboardLinks(undefined, undefined, { payloadCodecs: [] })).toBeUndefined();
  });

  test('leave the interceptors that were given, those of the old form alone', () => {
    const mine = { signal: () => Promise.resolve() };
    expect(withDashboardLinks('https://m', { workflow: [mine] })?.workflow).toEqual([mine, expect.anything()]);
    const old = { workflow: { calls: [] } };
    expect(withDashboardLinks('https://m', old)).toBe(old);
    expect(withDashboardLinks(undefined, undefined)).toBeUndefined();
  });
});
