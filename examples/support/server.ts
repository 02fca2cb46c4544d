import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** An answer other than success, thrown by a route. */
export class HttpProblem extends Error {
  override readonly name = 'HttpProblem';
  constructor(
    readonly status: number,
    message: string,
    readonly headers: Record<string, string> = {},
    readonly body?: unknown,
  ) {
    super(message);
  }
}

export type Route = (request: IncomingMessage, response: ServerResponse, url: URL) => Promise<void>;

/**
 * Serves `route` on loopback and prints the one line `{"ready":true,"port":N}` on stdout. SIGTERM,
 * SIGINT and (where stdin is a pipe) the end of the parent close it: a killed test run leaves no
 * server behind.
 */
export async function serve(route: Route, port: number, stop: () => Promise<void> = () => Promise.resolve()) {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://localhost');
    route(request, response, url).catch((error: unknown) => answerProblem(response, error));
  });
  // Longer than clients keep an idle connection: a request on one that we just closed has an
  // unknown outcome.
  server.keepAliveTimeout = 65_000;
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  process.stdout.write(`${JSON.stringify({ ready: true, port: (server.address() as AddressInfo).port })}\n`);
  onEnd(async () => {
    server.close();
    server.closeAllConnections();
    await stop();
  });
}

/**
 * Runs an example process; what it cannot start with ends it with exit code 1 and the reason on
 * stderr.
 */
export function runMain(main: () => Promise<void>): void {
  main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  });
}

/**
 * Runs `stop` once, on the first of SIGTERM, SIGINT and the end of a parent that holds our stdin,
 * then ends the process.
 */
export function onEnd(stop: () => Promise<void>): void {
  let ending = false;
  const end = () => {
    if (!ending) {
      ending = true;
      stop().then(
        () => process.exit(0),
        (error: unknown) => {
          process.stderr.write(`stopping failed: ${String(error)}\n`);
          process.exit(1);
        },
      );
    }
  };
  process.once('SIGTERM', end);
  process.once('SIGINT', end);
  if (process.env['MUSTER_EXAMPLE_PARENT'] === 'stdin') {
    process.stdin.resume().once('end', end).once('error', end);
  }
}

export function sendJson(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  const text = JSON.stringify(body);
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

/**
 * Reads a whole body. Above `maxBytes` the rest is read and dropped, so that the client sees the
 * 413 and no reset.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
    } else {
      chunks.length = 0;
    }
  }
  if (bytes > maxBytes) {
    throw new HttpProblem(413, `body: expected at most ${maxBytes} bytes, got ${bytes}`);
  }
  return Buffer.concat(chunks);
}

function answerProblem(response: ServerResponse, error: unknown): void {
  const problem = error instanceof HttpProblem ? error : new HttpProblem(500, String(error));
  if (!(error instanceof HttpProblem)) {
    process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
  if (response.headersSent) {
    response.destroy();
  } else {
    sendJson(response, problem.status, problem.body ?? { error: problem.message }, problem.headers);
  }
}
