import { Command, InvalidArgumentError } from 'commander';
import type { ApiTokenRow, Scope } from '../../../postgres/api/token';
import { insertToken, readTokens, revokeToken, SCOPES } from '../../../postgres/api/token';
import { NotFoundError } from '../../errors';
import { command, wholeOption } from '../support/command';
import { fields, table } from '../support/output';
import type { Session } from '../support/session';
import { runs } from '../support/session';

const NOTES = `Scopes: submit (submit and cancel tasks, batches, fan-outs, executions), read (view), admin (all of
these, and pause, flush, redrive, resolve, lanes). Only a hash is stored: a token is shown once, when it is
created. A revoked token is refused within 2 s, and ends its streams. Once a token was made, every request
needs one, also of an API that was started with --open; revoking the last one does not open it again.`;

const scopesOption = (text: string): Scope[] => {
  const scopes = text.split(',').map((scope) => scope.trim());
  const wrong = scopes.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (wrong !== undefined)
    throw new InvalidArgumentError(`Expected ${SCOPES.join(', ')} separated by commas, got "${wrong}".`);
  return [...new Set(scopes)] as Scope[];
};
const nameOption = (text: string): string => {
  if (text === '' || Buffer.byteLength(text) > 200) throw new InvalidArgumentError('Expected 1-200 bytes.');
  return text;
};

export const tokenCommand = (): Command =>
  command(
    'token',
    'Create, list and revoke tokens for the HTTP API.',
    ['muster token create --name ci --scope submit,read', 'muster token list', 'muster token revoke 3'],
    NOTES,
  )
    .addCommand(
      new Command('create')
        .description('Create a token; it is shown only once.')
        .requiredOption('--name <name>', 'owner or purpose, shown in the list', nameOption)
        .requiredOption('--scope <scopes>', 'submit, read, admin, separated by commas', scopesOption)
        .action(runs(create)),
    )
    .addCommand(new Command('list').description('List all tokens, without their secrets.').action(runs(list)))
    .addCommand(
      new Command('revoke')
        .description('Revoke a token.')
        .argument('<id>', 'number of the token in the list', wholeOption(1, 2_147_483_647))
        .action(runs(revoke)),
    );

const viewOf = ({ id, name, scopes, createdAt, revokedAt }: ApiTokenRow) => ({
  id,
  name,
  scopes,
  createdAt: createdAt.toISOString(),
  revokedAt: revokedAt?.toISOString() ?? null,
});

async function create(session: Session<{ name: string; scope: Scope[] }>): Promise<void> {
  const { name, scope } = session.options;
  const client = await session.client();
  await client.ready();
  const { newToken, hashToken } = await import('../../../workers/api/tokens.js');
  const token = newToken();
  const made = viewOf(await insertToken(client.pool, { name, hash: hashToken(token), scopes: scope }));
  session.out.answer({ token, ...made }, () =>
    fields([
      ['token', token],
      ['id', made.id],
      ['name', made.name],
      ['scopes', made.scopes.join(', ')],
      ['', 'Store it now: it is not shown again.'],
    ]),
  );
}

async function list(session: Session): Promise<void> {
  const client = await session.client();
  await client.ready();
  const tokens = (await readTokens(client.pool)).map(viewOf);
  session.out.answer(tokens, () =>
    table(
      ['id', 'name', 'scopes', 'made', 'revoked'],
      tokens.map((one) => [one.id, one.name, one.scopes.join(', '), one.createdAt, one.revokedAt]),
    ),
  );
}

async function revoke(session: Session, id: number): Promise<void> {
  const client = await session.client();
  await client.ready();
  const revoked = await revokeToken(client.pool, id);
  if (revoked === null) throw new NotFoundError('token', String(id), 'See `muster token list`.');
  session.out.answer(viewOf(revoked), () => `token ${id} (${revoked.name}) is revoked`);
}
