import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http';
import { finished, pipeline } from 'node:stream/promises';
import { neededTextFlag, numberFlag, portFlag, processFlags, textFlag } from './flags';
import { HttpProblem, runMain, sendJson, serve } from './server';

/**
 * A proxy that loses answers: of every `--every`th matching call it forwards the request, waits for
 * the whole answer, and then resets the client's connection. The downstream has done the work, the
 * client cannot know. A call matches where `<X-Amz-Target> <method> <path>` contains `--match`; the
 * default is all of them. `GET /_proxy/stats` answers how many matched and how many were lost.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/support/lossyProxy.js',
    summary:
      'A proxy on 127.0.0.1 that loses answers: the call was made, its client cannot know. Prints {"ready":true,"port":N}.',
    examples: ['--port 4456 --target http://127.0.0.1:4455 --every 5'],
  },
  {
    port: portFlag(),
    target: neededTextFlag({ text: 'the server behind it', as: 'url' }),
    every: numberFlag(5, { text: 'of every so many matching calls one answer is lost; 0: none' }),
    match: textFlag('', {
      text: 'a call matches where `<X-Amz-Target> <method> <path>` contains this; empty: all',
      as: 'text',
    }),
  },
);
const counters = { calls: 0, lost: 0 };

/**
 * The client's headers go on unchanged, Host too: an answer that names a URL then names the
 * proxy's.
 */
async function ask(origin: URL, request: IncomingMessage): Promise<IncomingMessage> {
  const { method, url, headers } = request;
  return new Promise((resolve, reject) => {
    const onward = forward({ host: origin.hostname, port: origin.port, method, path: url, headers }, resolve);
    onward.once('error', reject);
    pipeline(request, onward).catch(reject);
  });
}

async function pass(origin: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const call = `${String(request.headers['x-amz-target'] ?? '')} ${request.method} ${request.url}`;
  const matches = call.includes(flags.match);
  counters.calls += matches ? 1 : 0;
  const loses = matches && flags.every > 0 && counters.calls % flags.every === 0;
  const answer = await ask(origin, request).catch((error: unknown) => {
    throw new HttpProblem(502, `${origin.href}: ${String(error)}`);
  });
  if (!loses) {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    await pipeline(answer, response);
    return;
  }
  // To its end: what is lost is the answer, not the effect.
  await finished(answer.resume());
  counters.lost += 1;
  request.socket.resetAndDestroy();
}

async function main(): Promise<void> {
  const origin = new URL(flags.target);
  await serve(async (request, response, url) => {
    if (url.pathname === '/_proxy/stats') {
      sendJson(response, 200, counters);
    } else {
      await pass(origin, request, response);
    }
  }, flags.port);
}

runMain(main);
