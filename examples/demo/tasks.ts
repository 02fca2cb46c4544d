import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import { numberFlag, processFlags } from '../support/flags';
import { CITY_COUNT, cityTasks } from './cities';

/**
 * Prints the cities as NDJSON for `muster submit index-city --file -`; `--limit n` stops after the
 * first n.
 */
function* ndjson(limit: number): Generator<string> {
  for (const task of cityTasks(limit)) {
    yield `${JSON.stringify(task)}\n`;
  }
}

const { limit } = processFlags(
  {
    name: 'node dist/examples/demo/tasks.js',
    summary: 'Prints the cities as NDJSON for `muster submit index-city --file -`.',
    examples: ['', '--limit 20000'],
  },
  { limit: numberFlag(CITY_COUNT, { text: 'only the first so many cities' }) },
);
pipeline(Readable.from(ndjson(limit)), process.stdout, { end: false }).catch((error: unknown) => {
  // A reader that has seen enough (`| head`) closes the pipe: not an error of ours.
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') {
    throw error;
  }
});
