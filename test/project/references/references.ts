import path from 'node:path';
import * as estree from 'prettier/plugins/estree';
import * as markdown from 'prettier/plugins/markdown';
import * as typescript from 'prettier/plugins/typescript';
import { format } from 'prettier/standalone';
import type { Options } from 'prettier';
import { read } from '../project';
import { cliReference } from './cli';
import { clientReference } from './client';
import { configReference } from './config';
import { errorsReference } from './errors';
import { httpReference } from './http';
import { metricsReference } from './metrics';

const FOLDER = path.join('docs', 'reference');

/** Every generated page, by its file. */
export const REFERENCES: Readonly<Record<string, () => string | Promise<string>>> = {
  [path.join(FOLDER, 'cli.md')]: cliReference,
  [path.join(FOLDER, 'client.md')]: clientReference,
  [path.join(FOLDER, 'config.md')]: configReference,
  [path.join(FOLDER, 'errors.md')]: errorsReference,
  [path.join(FOLDER, 'http.md')]: httpReference,
  [path.join(FOLDER, 'metrics.md')]: metricsReference,
};

/** The page as it stands in the repository: as the formatter leaves it. */
export const referenceText = async (file: string): Promise<string> =>
  // The whole of prettier loads its parts by import(), which jest has not.
  format(await REFERENCES[file]!(), {
    ...(JSON.parse(read('.prettierrc.json')) as Options),
    parser: 'markdown',
    plugins: [markdown, typescript, estree],
  });
