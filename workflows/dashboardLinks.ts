import type { ClientInterceptors, WorkflowClientInterceptor } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import { linkTo, pageOf } from './planning/webUi/starts';

/** What a start of a workflow shows in Temporal's Web UI. */
interface Shown {
  memo?: Record<string, unknown>;
  staticDetails?: string;
}

/** How Muster's workflows are shown. */
interface How {
  /** Undefined: without a link. */
  dashboardUrl: string | undefined;
  /** What goes to Temporal is encoded, so there is no memo: a list could not read it. */
  isEncoded: boolean;
}

const shownSo = <O extends Shown>({ dashboardUrl, isEncoded }: How, options: O): O => {
  const { memo = {}, staticDetails = '', ...rest } = options;
  const page = pageOf(memo);
  if (page === null && !('muster' in memo)) return options;
  const url = page === null || dashboardUrl === undefined ? null : `${dashboardUrl.replace(/\/+$/, '')}/${page}`;
  return {
    ...(rest as O),
    ...(isEncoded ? {} : { memo: url === null ? memo : { ...memo, dashboard: url } }),
    staticDetails: url === null ? staticDetails : `${staticDetails}\n\n${linkTo(url)}`,
  };
};

const interceptor = (how: How): WorkflowClientInterceptor => ({
  startWithDetails: (input, next) => next({ ...input, options: shownSo(how, input.options) }),
  signalWithStart: (input, next) => next({ ...input, options: shownSo(how, input.options) }),
});

/**
 * Returns interceptors, after those given, that have Muster's workflows link to their page of the
 * dashboard. The link is in the memo too, which a run that continues as new keeps. Without an
 * address: only those given. With payload codecs there is no memo.
 */
export const withDashboardLinks = (
  dashboardUrl: string | undefined,
  given: ClientInterceptors | undefined,
  dataConverter?: Pick<DataConverter, 'payloadCodecs'>,
): ClientInterceptors | undefined => {
  const isEncoded = (dataConverter?.payloadCodecs?.length ?? 0) > 0;
  if (dashboardUrl === undefined && !isEncoded) return given;
  const { workflow = [] } = given ?? {};
  // The SDK's old form of interceptors cannot be added to.
  if (!Array.isArray(workflow)) return given;
  return { ...given, workflow: [...workflow, interceptor({ dashboardUrl, isEncoded })] };
};
