import type { Command } from 'commander';
import { NotFoundError } from '../../errors';
import { command, wholeOption } from '../support/command';
import { fields, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

export const batchCommand = (): Command =>
  command('batch', 'Show one batch: its state, attempts, close reason, and members.', [
    'muster batch 42',
    'muster batch 42 --json | jq ".members[].id"',
    'muster batch 42 --receipts',
  ])
    .argument('<id>', 'batch number, as shown by `muster task`', wholeOption(1, Number.MAX_SAFE_INTEGER))
    .option('--receipts', "the downstream's verdict on each item: valid, or invalid with details")
    .action(runs(batch));

async function batch(session: Session<{ receipts?: boolean }>, id: string): Promise<void> {
  const client = await session.client();
  if (session.options.receipts === true) {
    const receipts = await client.receipts(Number(id));
    session.out.answer(receipts, () =>
      table(
        ['item', 'receipt', 'state', 'message', 'data'],
        receipts.map((one) => [
          one.id,
          one.receipt ?? '-',
          one.state,
          one.messageOmitted ? '(omitted)' : (one.message ?? ''),
          one.dataOmitted ? '(omitted)' : one.data === undefined ? '' : JSON.stringify(one.data),
        ]),
      ),
    );
    return;
  }
  const found = await client.batch(Number(id));
  if (found === null)
    throw new NotFoundError('batch', id, 'It does not exist, or it was deleted after its retention period.');
  const { members, ...rest } = found;
  session.out.answer(
    found,
    () =>
      `${fields(Object.entries(rest))}\n${table(
        ['member', 'state'],
        members.map((member) => [member.id, member.state]),
      )}`,
  );
}
