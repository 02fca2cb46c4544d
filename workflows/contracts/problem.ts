import { z } from 'zod';

/** Every error of the HTTP API, in one form (RFC 9457, application/problem+json). */
export const problemDetails = z
  .looseObject({
    type: z.string().describe('urn:muster:problem:<name>, stable'),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().describe('What was expected, what came, and the remedy'),
    code: z.string().describe("Stable; as of the client library's errors"),
    errors: z
      .array(
        z.looseObject({
          field: z.string().describe('Path in the request, such as tasks[3].payload.country'),
          message: z.string(),
          code: z.string().optional(),
        }),
      )
      .optional()
      .describe('One a field'),
  })
  .meta({ id: 'Problem' });
export type ProblemDetails = z.infer<typeof problemDetails>;
