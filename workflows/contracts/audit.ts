import { z } from 'zod';
import { count, time } from './fields';

/** What a change came through; an agent's, by MCP and then the HTTP API. */
export const door = z.enum(['client', 'cli', 'api', 'mcp']);
export type Door = z.infer<typeof door>;

export const auditView = z
  .object({
    id: count,
    at: time,
    who: z.string().describe('A token with its name, or the user and machine of a client or command'),
    door: door.describe('mcp: by the API, of a caller that says it is `muster mcp`'),
    origin: z
      .string()
      .nullable()
      .describe('Address of the caller over HTTP; of a client that may only submit, its database user'),
    verb: z.string(),
    subject: z.string(),
    detail: z.record(z.string(), z.unknown()).describe('What was asked for'),
    outcome: z.string().nullable().describe('done, or the code of an error; null: its process ended before it knew'),
    answer: z.unknown().describe('What was answered, if it is short'),
  })
  .meta({ id: 'AuditEntry' });
export type AuditView = z.infer<typeof auditView>;
