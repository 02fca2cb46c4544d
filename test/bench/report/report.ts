import Table from 'cli-table3';
import type { BenchCase } from '../cases';
import type { CaseResult } from './result';

/** The table for people: ratios beside the goals. The JSON lines have the rest. */
export const tableOf = (cases: readonly BenchCase[], results: readonly CaseResult[]): string => {
  const table = new Table({
    head: [
      'case',
      'tasks/targets/max',
      'x floor, target by target',
      'x set floor (goal)',
      'x floor, 16 targets (goal)',
      'calls / best',
      'actions (goal)',
      'WAL B/task (most)',
      'CPU x set floor (goal)',
      'peak MB w/c/pg/t',
      'p99 due-sent',
    ],
    style: { head: [], border: [] },
  });
  for (const result of results) {
    const { goal } = cases.find(({ name }) => name === result.case)!;
    const { live, peakMb } = result;
    table.push([
      result.case,
      `${result.tasks}/${result.targets}/${result.maxItems}`,
      result.ratioToFloor === undefined ? '-' : `${result.ratioToFloor} [${result.ratioToFloorRange!.join('-')}]`,
      result.ratioToSetFloor === undefined ? '-' : `${result.ratioToSetFloor} (${goal.ratio})`,
      result.ratioToSixteen === undefined ? '-' : `${result.ratioToSixteen} (${goal.ratio})`,
      `${result.calls} / ${result.callsAtBest}`,
      goal.actionsPerBatch === undefined
        ? `${result.actionsPerTask}/task (${goal.actionsPerTask})`
        : `${result.actionsPerBatch}/batch (${goal.actionsPerBatch})`,
      `${result.walBytesPerTask} (${result.walBytesPerTaskAllowed})`,
      goal.cpu === undefined ? `${result.cpuRatioToFloor} x poller` : `${result.cpuRatioToFloor} (${goal.cpu})`,
      `${peakMb['worker']}/${peakMb['client']}/${peakMb['postgres']}/${peakMb['temporal']}`,
      live === undefined ? '-' : `${live.p99Ratio} x poller (${goal.lateness}): ${live.p99Ms} ms`,
    ]);
  }
  const missed = results.flatMap((result) => result.missed.map((line) => `missed: ${result.case}: ${line}`));
  return [table.toString(), ...(missed.length === 0 ? ['every figure reached'] : missed)].join('\n');
};
