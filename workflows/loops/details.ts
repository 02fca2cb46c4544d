import { setCurrentDetails, workflowInfo } from '@temporalio/workflow';
import type { ShownStart } from '../planning/webUi/starts';
import { linkTo } from '../planning/webUi/starts';

/**
 * Shows the state of this run in Temporal's Web UI, with a link to the dashboard if the memo has
 * its address. It costs no Temporal action. A server drops summary and details of a run that
 * continues as new, not its memo: the next run shows them here.
 */
export const showDetails = (markdown: string, { staticSummary, staticDetails }: ShownStart): void => {
  const { memo, continuedFromExecutionRunId } = workflowInfo();
  const url = memo?.['dashboard'];
  const parts = [
    markdown,
    ...(continuedFromExecutionRunId === undefined ? [] : [`**${staticSummary}**`, staticDetails]),
    ...(typeof url === 'string' ? [linkTo(url)] : []),
  ];
  setCurrentDetails(parts.join('\n\n'));
};
