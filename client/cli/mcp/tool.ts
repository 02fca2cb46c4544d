/** The tools of the MCP server, made from the OpenAPI document of the API that runs them. */

/** JSON of a document whose form is known. */
export type Json = Record<string, unknown>;

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: Json;
}
interface Operation {
  operationId: string;
  tags: readonly string[];
  summary: string;
  description?: string;
  'x-scope'?: string;
  /** It changes something, and has a dry run. */
  'x-dry-run'?: true;
  parameters: readonly Parameter[];
  requestBody?: { required: boolean; content: Record<string, { schema: Json }> };
  responses: Record<string, { content?: Json }>;
}

/** An OpenAPI document, as far as tools are made of it. */
export interface ApiDocument {
  info: { version: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Json> };
}

/** One operation of the API, as a client of MCP calls it. */
export interface Tool {
  /** The operation's id. */
  name: string;
  description: string;
  /** JSON Schema of the arguments. */
  inputSchema: Json & { type: 'object' };
  /** It changes something, unless `dryRun` is true. */
  isChange: boolean;
  /** A change that can be repeated under one `idempotencyKey`. */
  isKeyed: boolean;
  method: string;
  path: string;
  parameters: readonly Pick<Parameter, 'name' | 'in'>[];
  hasBody: boolean;
}

/** The header that becomes an argument of tools. */
const KEY = 'Idempotency-Key';

/** Sessions are for browsers. */
const SESSIONS: ReadonlySet<string> = new Set(['beginSession', 'endSession']);

/**
 * Returns a tool for each operation that these scopes may call. `null`: all. Streams are left out:
 * an agent asks again.
 */
export const toolsOf = (
  document: ApiDocument,
  scopes: ReadonlySet<string> | null,
  options: { readOnly: boolean },
): Tool[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) => {
      const scope = operation['x-scope'];
      if (scope === undefined || SESSIONS.has(operation.operationId) || !answersJson(operation)) return [];
      if (scopes !== null && !scopes.has(scope) && !scopes.has('admin')) return [];
      const tool = toolOf(document, path, method, operation);
      return tool.isChange && options.readOnly ? [] : [tool];
    }),
  );

/** Says whether an operation answers a JSON document, at least among others. */
const answersJson = ({ responses }: Operation): boolean =>
  Object.entries(responses).some(
    ([status, { content }]) => status.startsWith('2') && 'application/json' in (content ?? {}),
  );

const toolOf = (document: ApiDocument, path: string, method: string, operation: Operation): Tool => {
  const { operationId: name, summary, description, parameters, requestBody } = operation;
  const isChange = operation['x-dry-run'] === true;
  const isKeyed = parameters.some((one) => one.name === KEY);
  const own = parameters.filter((one) => one.in !== 'header');
  const body = requestBody?.content['application/json']?.schema;
  const properties = {
    ...Object.fromEntries(own.map((one) => [one.name, described(one.schema, one.description)])),
    ...(body === undefined ? {} : { body }),
    ...(isKeyed ? { idempotencyKey: IDEMPOTENCY_KEY } : {}),
    ...(isChange ? { dryRun: DRY } : {}),
  };
  const required = [
    ...own.filter((one) => one.required).map((one) => one.name),
    ...(requestBody?.required === true ? ['body'] : []),
  ];
  return {
    name,
    description: [
      `${summary}.`,
      ...(description === undefined ? [] : [description]),
      `Scope: ${operation['x-scope']}.`,
      ...(isChange ? ['Does nothing, and shows what it would act on, unless `dryRun` is false.'] : []),
    ].join(' '),
    inputSchema: withDefinitions({ type: 'object', properties, required, additionalProperties: false }, document),
    isChange,
    isKeyed,
    method: method.toUpperCase(),
    path,
    parameters: own.map((one) => ({ name: one.name, in: one.in })),
    hasBody: body !== undefined,
  };
};

const DRY: Json = {
  type: 'boolean',
  default: true,
  description: 'true: check the request and show what it would act on; false: do it',
};
const IDEMPOTENCY_KEY: Json = {
  type: 'string',
  minLength: 1,
  maxLength: 255,
  description: 'Repeating the call with the same key within 24 h does nothing and returns the same answer',
};

const described = (schema: Json, description: string | undefined): Json =>
  description === undefined ? schema : { ...schema, description };

/** Adds the components that a schema refers to: a tool's schema stands alone. */
const withDefinitions = (schema: Json & { type: 'object' }, { components }: ApiDocument): Tool['inputSchema'] => {
  const $defs: Record<string, Json> = {};
  const relinked = (part: Json): Json => {
    const text = JSON.stringify(part);
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
      if (Object.hasOwn($defs, name!)) continue;
      $defs[name!] = {}; // a schema may refer to itself
      $defs[name!] = relinked(components.schemas[name!]!);
    }
    return JSON.parse(text.replaceAll('"#/components/schemas/', '"#/$defs/')) as Json;
  };
  const made = relinked(schema) as Tool['inputSchema'];
  return Object.keys($defs).length === 0 ? made : { ...made, $defs };
};
