import { chatBatchHandler } from './handler';

export default {
  handlers: [
    chatBatchHandler({
      url: process.env['OPENAI_BATCH_URL'] ?? 'http://127.0.0.1:4466',
      apiKey: process.env['OPENAI_API_KEY'] ?? 'local',
      // The local server ends a batch after seconds; the real API asks to be polled less often.
      everyMs: Number(process.env['OPENAI_POLL_MS'] ?? 2_000),
      absentAfterMs: Number(process.env['OPENAI_ABSENT_AFTER_MS'] ?? 10_000),
    }),
  ],
};
