import { z } from 'zod';

/** The form of every error of the HTTP API (RFC 9457, application/problem+json). */
export const problemDetails = z
  .looseObject({
    type: z.string().describe('Stable type: urn:muster:problem:<name>'),
    title: z.string(),
    status: z.number().int(),
    detail: z.string().describe('What was expected, what was received, and the remedy'),
    code: z.string().describe("Stable code, the same as that of the client library's errors"),
    errors: z
      .array(
        z.looseObject({
          field: z.string().describe('Path in the request, such as tasks[3].payload.country'),
          message: z.string(),
          code: z.string().optional(),
        }),
      )
      .optional()
      .describe('One entry per field, at most 100'),
    errorsOmitted: z.number().int().optional().describe('Number of further entries; absent: none'),
  })
  .meta({ id: 'Problem' });
export type ProblemDetails = z.infer<typeof problemDetails>;
