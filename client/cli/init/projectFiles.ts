import { PACKAGES } from '../support/optionalPackages';
import { jsonFiles } from './jsonFiles';
import type { Project } from './names';
import { typescriptFiles } from './typescriptFiles';

/** Returns all files of a new project, by path. */
export const projectFiles = (project: Project): Record<string, string> => ({
  ...(project.kind === 'typescript' ? typescriptFiles(project) : jsonFiles(project)),
  'tasks.ndjson': TASKS,
  'compose.yaml': COMPOSE,
  '.gitignore': 'node_modules/\n.muster/\n.env\n',
});

/** Returns the package.json of a project that has none. */
export const manifestOf = ({ kind, handler, versions }: Project): string => {
  const needed = (names: readonly string[]): Record<string, string> =>
    Object.fromEntries(names.map((name) => [name, versions[name]!]));
  const test = { test: `jiti handlers/${handler}.test.ts` };
  const manifest = {
    private: true,
    scripts: { dev: 'muster dev', ...(kind === 'typescript' ? test : {}) },
    dependencies: needed(['temporal-muster', ...PACKAGES.worker]),
    devDependencies: needed([
      ...PACKAGES.dev.filter((name) => !PACKAGES.worker.some((one) => one === name)),
      ...(kind === 'typescript' ? ['jiti'] : []),
    ]),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
};

const TASKS = [
  { id: 'task-1', payload: { customer: 'ada', total: 12 } },
  { id: 'task-2', payload: { customer: 'ada', total: 7 } },
  { id: 'task-3', payload: { customer: 'bob', total: 30 } },
]
  .map((task) => `${JSON.stringify(task)}\n`)
  .join('');

const COMPOSE = `# Postgres and Temporal for development, in place of \`muster dev\`:
#   docker compose up -d
#   export MUSTER_DATABASE_URL=postgres://postgres:muster@localhost:5432/muster TEMPORAL_ADDRESS=localhost:7233
#   npx muster migrate && npx muster worker
services:
  postgres:
    image: postgres:18.6@sha256:86c951e05bf56c93d95d397747fb8820ac76cc3bedb78f43abd83eedbe3666ae
    environment: { POSTGRES_PASSWORD: muster, POSTGRES_DB: muster }
    ports: ['127.0.0.1:5432:5432']
    volumes: ['postgres:/var/lib/postgresql']
  temporal:
    image: temporalio/temporal:1.7.2
    # Short timers, as in \`muster dev\`: without the setting they take about a second.
    command:
      - server
      - start-dev
      - --ip=0.0.0.0
      - --dynamic-config-value=history.timerProcessorMaxTimeShift="10ms"
    ports: ['127.0.0.1:7233:7233', '127.0.0.1:8233:8233']
volumes:
  postgres:
`;
