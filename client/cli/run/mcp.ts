import type { Readable, Writable } from 'node:stream';
import type { Command } from 'commander';
import { InvalidArgumentError } from '../../errors';
import { command } from '../support/command';
import { expectInstalled, ownManifest } from '../support/optionalPackages';
import type { Session } from '../support/session';
import { runs } from '../support/session';

interface Options {
  url?: string;
  readOnly: boolean;
}

const NOTES = `Serves the Model Context Protocol on standard input and output: an agent starts this command. Each
operation of the HTTP API that the token may call is a tool; the documents are resources. A tool that changes something
is a dry run unless its dryRun is false.
  MUSTER_API_URL            address of muster api or muster dev; default: http://127.0.0.1:8080
  MUSTER_API_TOKEN[_FILE]   token (muster token create), or a file with it: what it may do, the agent may do`;

const DEFAULT_URL = 'http://127.0.0.1:8080';

export const mcpCommand = (): Command =>
  command(
    'mcp',
    'Serve the HTTP API to agents, by the Model Context Protocol.',
    [
      'muster mcp --read-only',
      'MUSTER_API_TOKEN_FILE=./agent-token muster mcp --url https://muster.example.com',
      'claude mcp add muster -- npx muster mcp',
    ],
    NOTES,
  )
    .option('--url <url>', `address of the API (default: ${DEFAULT_URL})`)
    .option('--read-only', 'offer only tools that change nothing', false)
    .action(runs(mcp));

async function mcp(session: Session<Options>): Promise<void> {
  expectInstalled('mcp');
  const { env, stdin, stdout } = session.surroundings;
  const [{ Api }, { toolsOf }, { serveMcp }, { readVariable }, { stopOnSignals }] = await Promise.all([
    import('../mcp/api.js'),
    import('../mcp/tool.js'),
    import('../mcp/server.js'),
    import('../../../handlers/environment/variable.js'),
    import('../../../workers/signals.js'),
  ]);
  const token = readVariable(env, 'MUSTER_API_TOKEN');
  if (token.problem !== undefined) throw new InvalidArgumentError('MUSTER_API_TOKEN', token.problem, undefined);
  const url = session.options.url ?? env['MUSTER_API_URL'] ?? DEFAULT_URL;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new InvalidArgumentError(
      session.options.url === undefined ? 'MUSTER_API_URL' : '--url',
      'an http or https URL',
      url,
    );
  const api = new Api(url, token.value ?? null);
  const [document, scopes] = [await api.document(), await api.scopes()];
  const tools = toolsOf(document, scopes, { readOnly: session.options.readOnly });
  session.out.note(`muster mcp: ${tools.length} tools of the API at ${url}`);
  const stop = stopOnSignals(() => undefined);
  try {
    const { version } = ownManifest();
    await serveMcp({ api, tools, version, stdin: stdin as Readable, stdout: stdout as Writable, signal: stop.signal });
  } finally {
    stop.release();
  }
}
