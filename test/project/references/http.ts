import { openApi } from '../../../workers/api/openapi';
import { allRoutes } from '../../../workers/api/routes';
import { code, page, table } from './markdown';

interface Parameter {
  name: string;
  in: string;
  required: boolean;
  description?: string;
}
interface Operation {
  summary: string;
  description?: string;
  parameters: Parameter[];
  requestBody?: unknown;
  responses: Record<string, { description: string }>;
  'x-scope'?: string;
}

/** Every route of the HTTP API; schemas stand in the OpenAPI document. */
export const httpReference = (): string => {
  const unused = (): never => {
    throw new Error('Cannot serve a request: only the documents of the routes are read.');
  };
  const routes = allRoutes({ stopping: new AbortController().signal, metrics: unused, document: unused });
  const document = openApi(routes, 'any') as unknown as {
    info: { description: string };
    tags: { name: string }[];
    paths: Record<string, Record<string, Operation & { tags: string[] }>>;
  };
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), ...operation })),
  );
  return page('HTTP API', [
    document.info.description.replaceAll('\n', ' '),
    [
      'A running API serves the whole document, with the schemas of bodies and answers, at `/openapi.json`, and',
      'a page to try it at `/docs`.',
    ].join(' '),
    ...document.tags.flatMap(({ name }) => [
      `## ${name}`,
      ...operations.filter(({ tags }) => tags.includes(name)).flatMap(operationParts),
    ]),
  ]);
};

const operationParts = (operation: Operation & { path: string; method: string }): string[] => [
  `### ${operation.method} ${operation.path}`,
  [`${operation.summary}.`, operation.description ?? '', scopeOf(operation)].filter((part) => part !== '').join(' '),
  ...(operation.parameters.length === 0
    ? []
    : [
        table(
          ['parameter', 'in', 'required', 'what it is'],
          operation.parameters.map(({ name, in: place, required, description = '' }) => [
            code(name),
            place,
            required ? 'yes' : 'no',
            description,
          ]),
        ),
      ]),
  table(
    ['answer', 'meaning'],
    Object.entries(operation.responses).map(([status, { description }]) => [status, description]),
  ),
];

const scopeOf = ({ 'x-scope': scope }: Operation): string =>
  scope === undefined ? 'No token needed.' : `Scope: ${code(scope)}.`;
