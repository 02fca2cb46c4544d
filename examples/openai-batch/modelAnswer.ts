import { z } from 'zod';
import { fraction } from '../support/random';
import type { RequestLine, ResponseLine } from './batchTypes';

const chatRequest = z.object({
  model: z.string().min(1),
  messages: z.array(z.object({ role: z.string(), content: z.string().min(1) })).min(1),
});

/**
 * What the "model" says to one request: 400 to a malformed one, 500 to the share `errorRate` (drawn
 * per batch and request, so that it succeeds in another batch), else a chat completion that repeats
 * the question.
 */
export function modelAnswer(line: RequestLine, batchId: string, errorRate: number): ResponseLine {
  const id = `batch_req_${batchId.slice(6)}_${Math.floor(fraction(line.custom_id) * 2 ** 32).toString(16)}`;
  const answer = (status_code: number, body: unknown): ResponseLine => ({
    id,
    custom_id: line.custom_id,
    response: { status_code, request_id: id, body },
    error: null,
  });
  const request = chatRequest.safeParse(line.body);
  if (!request.success) {
    const message = z.prettifyError(request.error);
    return answer(400, { error: { type: 'invalid_request_error', message } });
  }
  if (fraction(`${batchId} ${line.custom_id}`) < errorRate) {
    return answer(500, { error: { type: 'server_error', message: 'the model had a bad moment' } });
  }
  const { model, messages } = request.data;
  const content = `You said: ${messages.at(-1)?.content.slice(0, 200)}`;
  return answer(200, {
    object: 'chat.completion',
    model,
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
    usage: { total_tokens: messages.reduce((sum, message) => sum + Math.ceil(message.content.length / 4), 8) },
  });
}

/** A request that the batch did not come to. */
export function notExecuted(line: RequestLine, code: 'batch_expired' | 'batch_cancelled'): ResponseLine {
  const message = 'This request could not be executed before the batch ended.';
  return { id: `batch_req_${line.custom_id}`, custom_id: line.custom_id, response: null, error: { code, message } };
}
