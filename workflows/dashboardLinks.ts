import type { ClientInterceptors, WorkflowClientInterceptor } from '@temporalio/client';
import { linkTo, pageOf } from './planning/webUi/starts';

/** What a start of a workflow shows in Temporal's Web UI. */
interface Shown {
  memo?: Record<string, unknown>;
  staticDetails?: string;
}

const linked = <O extends Shown>(dashboardUrl: string, options: O): O => {
  const page = pageOf(options.memo ?? {});
  if (page === null) return options;
  const url = `${dashboardUrl.replace(/\/+$/, '')}/${page}`;
  const { memo, staticDetails = '' } = options;
  return { ...options, memo: { ...memo, dashboard: url }, staticDetails: `${staticDetails}\n\n${linkTo(url)}` };
};

const interceptor = (dashboardUrl: string): WorkflowClientInterceptor => ({
  startWithDetails: (input, next) => next({ ...input, options: linked(dashboardUrl, input.options) }),
  signalWithStart: (input, next) => next({ ...input, options: linked(dashboardUrl, input.options) }),
});

/**
 * Returns interceptors, after those given, that have Muster's workflows link to their page of the
 * dashboard. The link is in the memo too, which a run that continues as new keeps. Without an
 * address: only those given.
 */
export const withDashboardLinks = (
  dashboardUrl: string | undefined,
  given: ClientInterceptors | undefined,
): ClientInterceptors | undefined => {
  if (dashboardUrl === undefined) return given;
  const { workflow = [] } = given ?? {};
  // The SDK's old form of interceptors cannot be added to.
  if (!Array.isArray(workflow)) return given;
  return { ...given, workflow: [...workflow, interceptor(dashboardUrl)] };
};
