import { z } from 'zod';
import { problemDetails } from '../../workflows/contracts/problem';
import type { ErrorCode } from '../../workflows/planning/errorCodes';
import { BODY_CODES } from './body';
import { isChange } from './dryRuns/dryRun';
import { MAX_WAIT_S } from './limits';
import type { ProblemName } from './problem';
import { PROBLEMS } from './problem';
import type { Route } from './route';
import { bodyOf } from './route';

/** Builds the OpenAPI 3.1 document of the routes, from the contracts that check the requests. */

type Json = Record<string, unknown>;
type Schemas = Record<string, Json>;

/** Returns the JSON Schema; a schema with an id becomes a component, once. */
const schemaOf = (schema: z.ZodType, io: 'input' | 'output', components: Schemas): Json => {
  const made = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' }) as Json;
  const { $schema: _, $defs = {}, ...rest } = made;
  for (const [id, definition] of Object.entries($defs as Schemas)) components[id] ??= relink(definition);
  const id = z.globalRegistry.get(schema)?.id;
  if (id === undefined) return relink(rest);
  components[id] ??= relink(rest);
  return { $ref: `#/components/schemas/${id}` };
};

/** Redirects `#/$defs/X` to the components; `id` was ours, not JSON Schema's. */
const relink = (schema: Json): Json => {
  const { id: _, ...rest } = schema;
  return JSON.parse(JSON.stringify(rest).replaceAll('"#/$defs/', '"#/components/schemas/')) as Json;
};

/** Returns the problems that any route of its kind may answer besides its own. */
const usualProblems = (route: Route): ProblemName[] => [
  ...(route.scope === 'open'
    ? []
    : ([
        'unauthorized',
        'forbidden',
        'wrong-host',
        'not-found',
        'cross-site',
        'caller-limit',
        'busy',
        'unavailable',
        'stopping',
      ] as const)),
  ...((route.params ?? route.query ?? route.body) ? (['invalid', 'refused'] as const) : []),
  ...(route.waits === undefined ? [] : (['too-many-waiting'] as const)),
  ...(route.method === 'GET' ? [] : (['invalid', 'too-large', 'unsupported-media-type', 'too-deep'] as const)),
  ...(route.keyed === undefined ? [] : (['key-in-flight', 'key-reused'] as const)),
];

/**
 * Returns the codes of a 400, by what is read of a request: its parts are checked by their
 * contracts, and a body is parsed before.
 */
const invalidCodes = (route: Route): readonly ErrorCode[] =>
  bodyOf(route) === null ? ['INVALID_REQUEST'] : ['INVALID_REQUEST', ...BODY_CODES];

const problemSchema = (codes: readonly ErrorCode[]): Json => {
  const any = { $ref: '#/components/schemas/Problem' };
  return codes.length === 0 ? any : { allOf: [any, { properties: { code: { enum: codes } } }] };
};

const problemAnswers = (route: Route): Json => {
  const byStatus = new Map<number, Set<ProblemName>>();
  for (const name of [...usualProblems(route), ...route.problems]) {
    const [status] = PROBLEMS[name];
    byStatus.set(status, (byStatus.get(status) ?? new Set()).add(name));
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, names]) => [status, names, names.has('invalid') ? invalidCodes(route) : []] as const)
      .map(([status, names, codes]) => [
        String(status),
        {
          description:
            [...names].map((name) => `\`${name}\`: ${PROBLEMS[name][1]}`).join('; ') +
            (codes.length === 0 ? '' : ` (${codes.map((code) => `\`${code}\``).join(', ')})`),
          content: { 'application/problem+json': { schema: problemSchema(codes) } },
          ...([429, 503].includes(status) || names.has('key-in-flight') || names.has('too-early')
            ? { headers: { 'Retry-After': { description: 'Seconds', schema: { type: 'integer', minimum: 1 } } } }
            : {}),
        },
      ]),
  );
};

const parametersOf = (route: Route, components: Schemas): Json[] => {
  const of = (place: 'path' | 'query', schema: z.ZodObject | undefined): Json[] =>
    Object.entries(schema?.shape ?? {}).map(([name, inner]) => {
      const { description, ...json } = schemaOf(inner as z.ZodType, 'input', components);
      const isNeeded = place === 'path' || !(inner as z.ZodType).safeParse(undefined).success;
      return {
        name,
        in: place,
        required: isNeeded,
        ...(description === undefined ? {} : { description }),
        schema: json,
      };
    });
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'Repeating the request with the same key within 24 h does nothing and returns the same answer',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[\\x21-\\x7e]+$' },
  };
  return [...of('path', route.params), ...of('query', route.query), ...(route.keyed === undefined ? [] : [key])];
};

const REPLAYED = {
  'Idempotency-Replayed': {
    description: 'Nothing was done: the answer repeats the first one under this key',
    schema: { type: 'string', enum: ['true'] },
  },
};

const operationOf = (route: Route, components: Schemas): Json => {
  const { answer, stream } = route;
  const body = bodyOf(route);
  const content = stream === undefined ? 'application/json' : stream.split(';')[0]!;
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    ...(route.scope === 'open' ? { security: [] } : { security: [{ token: [] }], 'x-scope': route.scope }),
    // Not among the answers: a generated client would have to tell the two apart in each call.
    ...(isChange(route) ? { 'x-dry-run': true } : {}),
    parameters: parametersOf(route, components),
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: !body.isOptional,
            content: { 'application/json': { schema: schemaOf(body.schema, 'input', components) } },
          },
        }),
    responses: {
      [answer.status]: {
        description: answer.description,
        content: { [content]: { schema: schemaOf(answer.schema, 'output', components) } },
        ...(route.keyed === undefined ? {} : { headers: REPLAYED }),
      },
      ...problemAnswers(route),
      ...((route.params ?? route.query) === undefined ? {} : { 431: HEADER_OVERFLOW }),
    },
  };
};

/** Not a problem of a route: the request is refused before it comes to one. */
const HEADER_OVERFLOW = {
  description:
    'The address and the headers have more than 16 KiB; the answer has no body. ' +
    'A connection that had an answer before is closed without one',
};

const INTRODUCTION = `Everything the client library can do, for any language. Errors are problem details (RFC 9457). A POST with an
\`Idempotency-Key\` may be repeated: it takes effect once. \`wait\` delays an answer for up to ${MAX_WAIT_S} s. A 429 or 503 carries \`Retry-After\`
and means that nothing was accepted. A change with \`Dry-Run: true\` is checked, and does nothing.
Token scopes: \`submit\`, \`read\`, and \`admin\`, which grants every scope.`;

export const openApi = (routes: readonly Route[], version: string): Json => {
  const schemas: Schemas = {};
  schemaOf(problemDetails, 'output', schemas);
  const paths: Record<string, Json> = {};
  for (const route of routes) (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route, schemas);
  return {
    openapi: '3.1.0',
    info: { title: 'Muster', version, description: INTRODUCTION, license: { name: 'MIT' } },
    servers: [{ url: '/' }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas,
      securitySchemes: { token: { type: 'http', scheme: 'bearer', description: '`muster token create`' } },
    },
  };
};
