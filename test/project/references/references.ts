import { format, resolveConfig } from 'prettier';
import path from 'node:path';
import { ROOT } from '../project';
import { cliReference } from './cli';
import { configReference } from './config';
import { errorsReference } from './errors';
import { httpReference } from './http';
import { metricsReference } from './metrics';

const FOLDER = path.join('docs', 'reference');

/** Every generated page, by its file. */
export const REFERENCES: Readonly<Record<string, () => string | Promise<string>>> = {
  [path.join(FOLDER, 'cli.md')]: cliReference,
  [path.join(FOLDER, 'config.md')]: configReference,
  [path.join(FOLDER, 'errors.md')]: errorsReference,
  [path.join(FOLDER, 'http.md')]: httpReference,
  [path.join(FOLDER, 'metrics.md')]: metricsReference,
};

/** The page as it stands in the repository: as the formatter leaves it. */
export const referenceText = async (file: string): Promise<string> => {
  const config = await resolveConfig(path.join(ROOT, file));
  return format(await REFERENCES[file]!(), { ...config, parser: 'markdown' });
};
