import type { BulkView } from '../../views';
import { fields, plural, table } from '../support/output';

const looked = ({ done, skipped, failed }: BulkView): number => done + skipped + failed;

export const describeBulk = (view: BulkView): string => {
  const { state: of, ...others } = view.where;
  const { do: verb, ...how } = view.action;
  return fields([
    ['bulk action', view.id],
    ['state', view.state],
    ['action', `${verb}${Object.keys(how).length === 0 ? '' : ` ${JSON.stringify(how)}`}`],
    ['tasks', `${of} of ${view.handler}${Object.keys(others).length === 0 ? '' : ` ${JSON.stringify(others)}`}`],
    ['limit', view.limit],
    ['looked at', `${looked(view)} of ${view.total}${view.state === 'counting' ? ' so far' : ''}`],
    ['done', view.done],
    ['skipped', view.skipped === 0 ? null : `${plural(view.skipped, 'task')} had left the state, or as wanted`],
    ...Object.entries(view.failures).map(([reason, n]) => ['failed', `${plural(n, 'task')}: ${reason}`] as const),
    ['per second', view.perSecond],
    ['last step', view.error],
    ['waits for', view.waitsFor],
    ['started', `${view.createdAt} by ${view.who}${view.origin === null ? '' : ` from ${view.origin}`}`],
    ['changed', view.changedAt],
    ['ended', view.finishedAt],
  ]);
};

export const listBulkText = (actions: readonly BulkView[]): string =>
  table(
    ['bulk action', 'action', 'handler', 'state', 'looked at', 'of', 'failed', 'started', 'by'],
    actions.map((view) => [
      view.id,
      `${view.action.do} ${view.where.state}`,
      view.handler,
      view.waitsFor === null ? view.state : `${view.state}, waits for ${view.waitsFor}`,
      looked(view),
      view.total,
      view.failed,
      view.createdAt,
      view.who,
    ]),
  );
