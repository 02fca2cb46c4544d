import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { numberFlag, processFlags } from '../support/flags';

/**
 * Prints questions as NDJSON for `muster submit chat-batch --file -`: `--count` of them, each with `--bytes` of text, and with `--empty-every n`
 * an empty question in every nth, which the downstream refuses.
 */
const flags = processFlags({ count: numberFlag(1_000), bytes: numberFlag(200), 'empty-every': numberFlag(0) });

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
