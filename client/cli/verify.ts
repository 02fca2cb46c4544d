import type { Command } from 'commander';
import type { Verification } from '../views';
import { command } from './support/command';
import { EXIT } from './support/exitCodes';
import { table } from './support/output';
import type { Session } from './support/session';
import { runs } from './support/session';

export const verifyCommand = (): Command =>
  command(
    'verify',
    'Check every invariant of the store: nothing lost, nothing twice, all counts add up.',
    ['muster verify', 'muster verify --json | jq ".checks[] | select(.violations != [])"'],
    'Exit code 1 and the rows if one is violated. Safe to run at any time.',
  ).action(runs(verify));

async function verify(session: Session): Promise<number> {
  const client = await session.client();
  const answer = await client.verify();
  session.out.answer(answer, () => show(answer));
  return answer.ok ? EXIT.ok : EXIT.failed;
}

const show = ({ ok, checks }: Verification): string => {
  const rows = checks.map(({ name, violations }) => [
    name,
    violations.length === 0 ? 'ok' : `VIOLATED (${violations.length})`,
  ]);
  const bad = checks.flatMap(({ name, violations }) => violations.map((row) => `${name}: ${JSON.stringify(row)}`));
  return [
    table(['invariant', ''], rows),
    ...bad,
    ok ? 'All invariants hold.' : 'Some invariants are violated; the rows are above.',
  ].join('\n');
};
