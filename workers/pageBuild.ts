import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ASSETS } from './pageFolder';

/** What the page is made of, in its folder of sources. */
const PARTS = { script: 'main.tsx', style: 'style.css', icon: 'icon.svg' } as const;

const html = (names: Readonly<Record<keyof typeof PARTS, string>>): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Muster</title>
<link rel="icon" href="${names.icon}" type="image/svg+xml">
<link rel="stylesheet" href="${names.style}">
<script type="module" src="${names.script}"></script>
</head>
<body>
<div id="page"></div>
<noscript>The dashboard needs JavaScript. The command line shows the same: muster status.</noscript>
</body>
</html>
`;

/**
 * Builds the dashboard from its sources into a folder. Each file has a hash in its name, except the
 * page.
 */
export const buildPage = async (sources: string, folder: string): Promise<void> => {
  const { build } = await import('esbuild');
  rmSync(path.join(folder, ASSETS), { recursive: true, force: true });
  mkdirSync(path.join(folder, ASSETS), { recursive: true });
  const { metafile } = await build({
    absWorkingDir: sources,
    entryPoints: Object.values(PARTS),
    outdir: path.join(folder, ASSETS),
    entryNames: '[name]-[hash]',
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'copy' },
    metafile: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const made = Object.entries(metafile.outputs);
  const nameOf = (part: string): string => {
    const [file] = made.find(([, { entryPoint, inputs }]) => (entryPoint ?? Object.keys(inputs)[0]) === part)!;
    return `${ASSETS}/${path.basename(file)}`;
  };
  const { script, style, icon } = PARTS;
  const page = html({ script: nameOf(script), style: nameOf(style), icon: nameOf(icon) });
  writeFileSync(path.join(folder, 'index.html'), page);
};
