import { hopsIn, problemsOf } from './page';
import { read } from '../project';

const PAGE = 'docs/internals/follow-a-task.md';

describe(PAGE, () => {
  const page = read(PAGE);

  test('names functions that exist, each called by the one before it or by a caller of that one', () => {
    expect(problemsOf(page)).toEqual([]);
  });

  test('marks few hops as entries, which nothing checks', () => {
    const hops = hopsIn(page).flat(2);
    expect(hops.length).toBeGreaterThan(150);
    expect(hops.filter(({ mark }) => mark === 'entry').length).toBeLessThan(15);
  });
});

describe('a page about a task', () => {
  const START = '## A turn\n\n1. _entry_ `workflows/leader.ts` `leader`, ';

  test.each([
    ['a file that is not there', '`workflows/lead.ts` `lead`', 'workflows/lead.ts lead is not there'],
    ['a function that its file does not hold', '`workflows/wake.ts` `leader`', 'workflows/wake.ts leader is not there'],
    [
      'a function that none of those before it calls',
      '`activities/grouping/claim.ts` `claimBatches`',
      'leader does not lead to activities/grouping/claim.ts claimBatches (call)',
    ],
    [
      'a function of the same name in another file',
      '_activity_ `activities/grouping/claim.ts` `claimBatches`, `postgres/lanes/queuer.ts` `wakeQueuers`',
      'leader > claimBatches does not lead to postgres/lanes/queuer.ts wakeQueuers (call)',
    ],
    [
      'an activity that the workflow does not start',
      '_activity_ `activities/lanes/grant.ts` `grantLanes`',
      'leader does not lead to activities/lanes/grant.ts grantLanes (activity)',
    ],
    [
      'a workflow that the function does not start',
      '_workflow_ `workflows/notifier.ts` `notifier`',
      'leader does not lead to workflows/notifier.ts notifier (workflow)',
    ],
    [
      'a table that the function does not write',
      '_table_ `notification` `postgres/callbacks/notification.ts` `takeDueNotifications`',
      'leader does not lead to postgres/callbacks/notification.ts takeDueNotifications (table notification)',
    ],
    [
      'a field that the function does not call',
      '_field_ `mark` `activities/lanes/marking.ts` `LANE_MARKING`',
      'leader does not lead to activities/lanes/marking.ts LANE_MARKING (field mark)',
    ],
  ])('must not name %s', (_, hops, problem) => {
    expect(problemsOf(START + hops)).toEqual([problem]);
  });

  test('may go on from a function that it named before, at the beginning of an item only', () => {
    const first = `${START}_activity_ \`activities/grouping/claim.ts\` \`claimBatches\`.\n\n## Else\n\n`;
    expect(problemsOf(`${first}1. \`workflows/leader.ts\` \`leader\``)).toEqual([]);
    expect(
      problemsOf(`${first}1. _entry_ \`workflows/queuer.ts\` \`queuer\`, \`workflows/leader.ts\` \`leader\``),
    ).toEqual(['queuer does not lead to workflows/leader.ts leader (call)']);
  });
});
