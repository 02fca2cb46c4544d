import path from 'node:path';

const CODEC = path.join(__dirname, '..', '..', 'dist', 'examples', 'codec', 'aesGcmCodec.js');

/**
 * The config file of `plaintext.test.ts`: handlers whose downstream repeats the payload in whatever
 * it says.
 */
export const CONFIG = `
import { defineFunction, defineHandler, HaltError, LaterError } from 'temporal-muster';
import { z } from 'zod';
import { codecOf } from ${JSON.stringify(CODEC)};

export const payloadCodec = codecOf(process.env['CODEC_KEYS']);
export const callbacks = { allow: ['http://' + process.env['HOOK_HOST']], secret: process.env['HOOK_SECRET'] };
const schema = z.object({
  to: z.string(),
  secret: z.string().refine((text) => !text.startsWith('bad'), { error: (issue) => 'refused: ' + issue.input }),
});
const common = {
  schema, target: ({ to }) => to, limits: { maxItems: 50 }, linger: { lingerMs: 20 },
  retry: { maxAttempts: 2, delayed: { baseMs: 50, maxMs: 100 } },
};
let waited = 0;
export const handlers = [
  defineHandler({
    ...common,
    name: 'orders',
    submit: async ({ tasks, target }) => {
      const said = 'it said ' + tasks[0].payload.secret;
      if (target === 'throws') throw new Error(said);
      if (target === 'later' && waited++ < 2) throw new LaterError(said, { retryAfterMs: 50 });
      if (target === 'halts') throw new HaltError(said, { scope: 'target' });
      if (target === 'garbage') return { results: 'unreadable ' + tasks[0].payload.secret } as never;
      const one = ({ id, payload, attempts }) => {
        const error = 'no: ' + payload.secret;
        if (target === 'dead' || (target === 'retry' && attempts === 0)) return { id, status: 'retry', error };
        if (target === 'failed') return { id, status: 'failed', error, result: payload };
        return { id, status: 'ok', result: { echo: payload.secret } };
      };
      return { results: tasks.map(one) as never };
    },
  }),
  defineHandler({
    ...common,
    name: 'jobs',
    poll: { everyMs: 200, deadlineMs: 3_600_000 },
    submit: async ({ id }) => ({ status: 'accepted', reference: 'job-' + id }),
    status: async (references) =>
      references.map((reference) => ({ reference, status: 'pending', error: 'still ' + process.env['SECRET'] })),
    results: async () => [],
  }),
  defineHandler({
    ...common,
    name: 'ledger',
    service: (to) => to,
    submit: async ({ tasks }) => ({
      results: tasks.map(({ id, payload }, i) =>
        i === 0 ? { id, status: 'failed', error: 'no: ' + payload.secret } : { id, status: 'ok', result: payload },
      ) as never,
    }),
  }),
];
export const functions = [
  defineFunction({
    name: 'echo',
    run: async (args) => ({ exitCode: 0, stdout: args.join(), stderr: 'of ' + args.join() }),
  }),
  defineFunction({ name: 'fails', run: async (args) => { throw new Error('it was ' + args.join()); } }),
];
`;
