import { setTimeout as sleep } from 'node:timers/promises';
import { isBulkOver } from '../../../workflows/planning/bulk/states';
import type { Client } from '../../client';
import { NotFoundError } from '../../errors';
import type { BulkView } from '../../views';
import type { Output } from '../support/output';
import type { Progress } from '../support/progress';

const LOOK_MS = 250;

export const foundBulk = async (client: Client, id: string): Promise<BulkView> => {
  const view = await client.bulk.get(id);
  if (view === null) throw new NotFoundError('bulk action', id, 'It was never started, or it was deleted.');
  return view;
};

/** Waits until a bulk action has ended, and draws how far it is on a terminal. */
export const followed = async (client: Client, id: string, out: Output): Promise<BulkView> => {
  let bar: Progress | null = null;
  let said: string | null = null;
  let waited: string | null = null;
  try {
    for (;;) {
      const view = await foundBulk(client, id);
      if (view.state !== 'counting') {
        bar ??= out.progress(view.action.do.padEnd(9), view.total, 'tasks');
        bar.update(view.done + view.skipped + view.failed, view.total);
      }
      if (view.error !== null && view.error !== said) out.note(`A step failed, and is tried again: ${view.error}`);
      said = view.error;
      if (view.waitsFor !== null && view.waitsFor !== waited) out.note(`It waits for ${view.waitsFor}.`);
      waited = view.waitsFor;
      if (isBulkOver(view.state)) return view;
      await sleep(LOOK_MS);
    }
  } finally {
    bar?.stop();
  }
};
