import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { numberFlag, processFlags } from '../support/flags';

/**
 * Prints questions as NDJSON for `muster submit chat-batch --file -`: `--count` of them, each with
 * `--bytes` of text, and with `--empty-every n` an empty question in every nth, which the
 * downstream refuses.
 */
const flags = processFlags(
  {
    name: 'node dist/examples/openai-batch/tasks.js',
    summary: 'Prints questions as NDJSON for `muster submit chat-batch --file -`.',
    examples: ['--count 1000 --empty-every 250'],
  },
  {
    count: numberFlag(1_000, { text: 'questions' }),
    bytes: numberFlag(200, { text: 'length of each, in bytes', unit: 'bytes' }),
    'empty-every': numberFlag(0, { text: 'every so many is empty, which the downstream refuses; 0: none' }),
  },
);

function* questions(): Generator<string> {
  for (let n = 1; n <= flags.count; n += 1) {
    const question = `Question ${n}: what is ${n} times ${n}? `;
    const isEmpty = flags['empty-every'] > 0 && n % flags['empty-every'] === 0;
    const content = isEmpty ? '' : question.padEnd(flags.bytes, 'Please show your work. ');
    const payload = { model: 'small-model', messages: [{ role: 'user', content }], max_tokens: 64 };
    yield `${JSON.stringify({ id: `question-${n}`, payload })}\n`;
  }
}

pipeline(Readable.from(questions()), process.stdout, { end: false }).catch((error: unknown) => {
  if ((error as NodeJS.ErrnoException).code !== 'EPIPE') {
    throw error;
  }
});
