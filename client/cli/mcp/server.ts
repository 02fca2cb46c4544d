import type { Readable, Writable } from 'node:stream';
import type { CallToolResult, ListToolsResult } from '@modelcontextprotocol/sdk/types.js';
import { describeThrown } from '../../../handlers/text';
import type { Api } from './api';
import { listPages, readPage } from './pages';
import { requestOf } from './request';
import type { Json, Tool } from './tool';

/** What an agent is told before it does anything. */
const INSTRUCTIONS = `\
Muster collects single tasks into the batches that a downstream wants, and accounts for each of them.
To find out what is wrong: getOverview, then getHandler and listErrors, then explainTask of one task.
Every tool that changes something is a dry run unless its dryRun is false: look at its answer first, tell the
person what it would act on, and do it only if they agree. Times are ISO 8601, durations milliseconds.
The resources are Muster's documents; operations/runbook.md says what to do when something is wrong.`;

interface Served {
  api: Api;
  tools: readonly Tool[];
  version: string;
  stdin: Readable;
  stdout: Writable;
  signal: AbortSignal;
}

/** Serves the tools over these streams. Resolves when the other side has closed them. */
export const serveMcp = async ({ api, tools, version, stdin, stdout, signal }: Served): Promise<void> => {
  const [{ Server }, { StdioServerTransport }, types] = await Promise.all([
    import('@modelcontextprotocol/sdk/server/index.js'),
    import('@modelcontextprotocol/sdk/server/stdio.js'),
    import('@modelcontextprotocol/sdk/types.js'),
  ]);
  const server = new Server(
    { name: 'muster', title: 'Muster', version },
    { capabilities: { tools: {}, resources: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler(types.ListToolsRequestSchema, () => ({ tools: tools.map(listed) }));
  server.setRequestHandler(types.CallToolRequestSchema, ({ params }, extra) =>
    called(api, tools, params.name, params.arguments ?? {}, AbortSignal.any([extra.signal, signal])),
  );
  server.setRequestHandler(types.ListResourcesRequestSchema, () => ({
    resources: listPages().map((page) => ({ ...page, mimeType: 'text/markdown' })),
  }));
  server.setRequestHandler(types.ReadResourceRequestSchema, ({ params: { uri } }) => ({
    contents: [{ uri, mimeType: 'text/markdown', text: readPage(uri) }],
  }));
  const closed = new Promise<void>((resolve) => {
    server.onclose = resolve;
    stdin.once('end', resolve);
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport(stdin, stdout));
  await closed;
  await server.close();
};

const listed = (tool: Tool): ListToolsResult['tools'][number] => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema,
  annotations: {
    readOnlyHint: !tool.isChange,
    destructiveHint: tool.isChange,
    idempotentHint: !tool.isChange || tool.isKeyed,
    openWorldHint: false,
  },
});

/** Calls a tool. What goes wrong is its answer: the agent reads it, and may do better. */
const called = async (
  api: Api,
  tools: readonly Tool[],
  name: string,
  given: Json,
  signal: AbortSignal,
): Promise<CallToolResult> => {
  const answered = (text: string, isError: boolean): CallToolResult => ({ content: [{ type: 'text', text }], isError });
  const tool = tools.find((one) => one.name === name);
  if (tool === undefined)
    return answered(`Cannot call ${name}: no such tool, or its scope is not the token's. List the tools.`, true);
  try {
    const { text, isError } = await api.call(requestOf(tool, given), signal);
    return answered(text, isError);
  } catch (error) {
    return answered(describeThrown(error), true);
  }
};
