import { numberFlag, processFlags, seedFlag } from '../../examples/support/flags';
import { fuzz } from './schemathesis';
import { startServers } from './servers';
import { items, openWorld } from './world';
import { runToEnd } from '../helpers/runToEnd';

/**
 * `npm run test:fuzz`: the HTTP API against its own OpenAPI document, for longer than in the tests.
 */
const flags = processFlags(
  {
    name: 'npm run test:fuzz --',
    summary:
      'Tries the HTTP API with a schema-driven fuzzer (schemathesis, from PyPI) over its own OpenAPI document: boundary values of every field, random requests, and sequences of requests.',
    result:
      'The report of the fuzzer on stdout. Exit code 1 if it found a 5xx, or an answer that is not as documented.',
    examples: ['', '--examples 200 --seconds 600', '--seed 7'],
  },
  {
    examples: numberFlag(40, { text: 'requests of an operation and phase', min: 1 }),
    seconds: numberFlag(240, { text: 'how long the random phases take at most', min: 1, unit: 's' }),
    workers: numberFlag(1, { text: 'requests at once', min: 1, max: 64 }),
    seed: seedFlag(),
  },
);

async function main(): Promise<void> {
  const stop = await startServers({ fsync: 'off' });
  const world = await openWorld({ limits: { maxWaitS: 0 } });
  try {
    await world.call('POST /v1/handlers/items/tasks', { body: { tasks: items('0', '0') } });
    const { ok } = await fuzz({
      url: world.api.url,
      token: await world.token('admin'),
      phases: 'examples,coverage,fuzzing,stateful',
      examples: flags.examples,
      seed: flags.seed,
      maxSeconds: flags.seconds,
      workers: flags.workers,
      onOutput: (text) => void process.stdout.write(text),
    });
    const { ok: whole } = await world.client.verify({ full: true });
    const bugs = world.logged.filter((line) => line.includes('"level":50'));
    process.stdout.write(
      `seed ${flags.seed}; verify: ${whole ? 'ok' : 'VIOLATED'}; bugs in the log: ${bugs.length}\n${bugs.slice(0, 5).join('')}`,
    );
    process.exitCode = ok && whole && bugs.length === 0 ? 0 : 1;
  } finally {
    await world.stop();
    await stop();
  }
}

runToEnd(main);
