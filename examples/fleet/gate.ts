import { z } from 'zod';
import { portFlag, processFlags } from '../support/flags';
import { HttpProblem, readBody, runMain, sendJson, serve } from '../support/server';
import { Book } from './book';

/**
 * The downstream, as a separate process: it looks at epochs, and writes everything down.
 *
 *     POST /write {partition, epoch, node, key, tasks}   200 · 409: a higher epoch of that partition was here before
 *     GET  /epochs                                       the highest of each partition
 *     GET  /account                                      what was accepted, refused, repeated and processed
 */
const flags = processFlags(
  {
    name: 'node dist/examples/fleet/gate.js',
    summary: 'Takes writes under epochs on 127.0.0.1 and refuses those of older ones. Prints {"ready":true,"port":N}.',
    examples: ['--port 4470'],
  },
  { port: portFlag() },
);

const writeBody = z.object({
  partition: z.string(),
  epoch: z.number().int().positive(),
  node: z.string(),
  key: z.string(),
  tasks: z.array(z.string()).min(1),
});
const book = new Book();

runMain(() =>
  serve(async (request, response, url) => {
    if (request.method === 'GET' && url.pathname === '/account') return sendJson(response, 200, book.read());
    if (request.method === 'GET' && url.pathname === '/epochs') return sendJson(response, 200, book.epochs());
    if (request.method !== 'POST' || url.pathname !== '/write')
      throw new HttpProblem(404, 'there is POST /write, GET /epochs and GET /account');
    const parsed = writeBody.safeParse(JSON.parse((await readBody(request, 1_000_000)).toString()));
    if (!parsed.success) throw new HttpProblem(400, z.prettifyError(parsed.error));
    const highest = book.write(parsed.data);
    if (highest !== null)
      throw new HttpProblem(409, `${parsed.data.partition}: epoch ${parsed.data.epoch} has ended: ${highest} was here`);
    sendJson(response, 200, {});
  }, flags.port),
);
