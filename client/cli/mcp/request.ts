import { climbs } from '../../../workflows/planning/urlPath';
import type { Json, Tool } from './tool';

/** What is sent to the API for one call of a tool. */
export interface ApiRequest {
  method: string;
  /** With the query. */
  path: string;
  headers: Record<string, string>;
  body?: string;
}

/**
 * Returns the request of a call. A change is a dry run unless its `dryRun` is false.
 *
 * @throws Error that names an argument which no tool of this name has, or which is missing; and for
 * a name that no URL can have.
 */
export const requestOf = (tool: Tool, given: Json): ApiRequest => {
  const known = Object.keys(tool.inputSchema['properties'] as Json);
  const unknown = Object.keys(given).find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Error(`Cannot call ${tool.name}: ${unknown} is no argument of it. Pass only ${known.join(', ')}.`);
  const missing = (tool.inputSchema['required'] as string[]).find((name) => given[name] === undefined);
  if (missing !== undefined) throw new Error(`Cannot call ${tool.name}: expected ${missing}, got nothing. Pass it.`);
  const { dryRun = true, idempotencyKey, body } = given;
  if (tool.isChange && typeof dryRun !== 'boolean')
    throw new Error(`Cannot call ${tool.name}: dryRun: expected true or false, got ${JSON.stringify(dryRun)}.`);
  const query = new URLSearchParams();
  let { path } = tool;
  for (const { name, in: place } of tool.parameters) {
    const value = given[name];
    if (value === undefined) continue;
    if (place === 'query') query.set(name, String(value));
    else path = path.replace(`{${name}}`, encodeURIComponent(String(value)));
  }
  if (climbs(path))
    throw new Error(`Cannot call ${tool.name}: no URL can have a name . or .. in it. Use the command line for this.`);
  return {
    method: tool.method,
    path: query.size === 0 ? path : `${path}?${query.toString()}`,
    headers: {
      ...(tool.method === 'GET' ? {} : { 'content-type': 'application/json' }),
      ...(tool.isChange ? { 'dry-run': String(dryRun) } : {}),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': String(idempotencyKey) }),
    },
    ...(tool.hasBody && tool.method !== 'GET' ? { body: JSON.stringify(body ?? {}) } : {}),
  };
};
