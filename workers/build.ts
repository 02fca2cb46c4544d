import { cpSync, existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isCurrent, keepState } from './buildState';
import { buildPage } from './pageBuild';
import { BUNDLE_FILE, bundleSource } from './temporal/bundle';

/**
 * The second half of `npm run build`, run from dist/: what tsc does not copy or remove, and the
 * workflow bundle, unless the one that is there was made of the same.
 */
const root = path.join(__dirname, '..', '..');
const dist = path.join(root, 'dist');

/** Removes the outputs of sources that are gone: they would be packed, and could be imported. */
const removeStale = (): void => {
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    const source = file.replace(/\.(js|d\.ts)$/, '.ts');
    const isCompiled = source !== file && path.join(dist, file) !== BUNDLE_FILE;
    const isStale = file.endsWith('.map') || (isCompiled && !existsSync(path.join(root, source)));
    if (isStale) rmSync(path.join(dist, file), { force: true });
  }
};

const build = async (): Promise<void> => {
  removeStale();
  const migrations = path.join(dist, 'postgres', 'migrations');
  // A migration that was renamed or removed since the last build would be one that this program
  // waits for.
  rmSync(migrations, { recursive: true, force: true });
  cpSync(path.join(root, 'postgres', 'migrations'), migrations, { recursive: true });
  cpSync(path.join(root, 'postgres', 'schemaObjects.json'), path.join(dist, 'postgres', 'schemaObjects.json'));
  const page = path.join('workers', 'dashboard');
  await buildPage(path.join(root, page), path.join(dist, page));
  if (!isCurrent(root, 'bundle')) await writeBundle();
  keepState(root);
};

const writeBundle = async (): Promise<void> => {
  const { bundleWorkflowCode } = await import('@temporalio/worker');
  const quiet = { trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error, log() {} };
  const { code } = await bundleWorkflowCode({ ...bundleSource(), logger: quiet });
  writeFileSync(BUNDLE_FILE, withoutSources(code));
};

/**
 * Leaves the places of the sources in the bundle's map, by which stacks are read, and takes the
 * sources out: half of the bundle, which every client would install.
 */
const withoutSources = (code: string): string =>
  code.replace(/(?<=\n\/\/# sourceMappingURL=data:application\/json;charset=utf-8;base64,)\S+/, (map) => {
    const { sourcesContent: _, ...places } = JSON.parse(Buffer.from(map, 'base64').toString()) as Record<
      string,
      unknown
    >;
    return Buffer.from(JSON.stringify(places)).toString('base64');
  });

build().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
