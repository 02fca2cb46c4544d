import path from 'node:path';
import ts from 'typescript';
import { ROOT } from '../project';

/** How a user's compiler finds the declarations of a package: by Node's rules, or as a bundler. */
const RESOLUTIONS = {
  nodenext: { module: ts.ModuleKind.NodeNext, moduleResolution: ts.ModuleResolutionKind.NodeNext },
  bundler: { module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler },
} as const;
export type Resolution = keyof typeof RESOLUTIONS;

/** By the ending of its file a program is an ES module or CommonJS. */
const PROGRAMS = ['mts', 'cts'] as const;

/**
 * Compiles two programs that use a name of each entry, one as an ES module and one as CommonJS, and
 * returns what the compiler says. `folder`: where the package is found; by its own name in the
 * repository. Declarations of packages are not checked: those of Muster are, elsewhere.
 */
export const compileEntries = (
  names: Readonly<Record<string, readonly string[]>>,
  resolution: Resolution,
  folder = ROOT,
): string => {
  const text = Object.entries(names)
    .map(
      ([entry, [name]], i) => `import { ${name} as v${i} } from '${entry}';\nexport const used${i}: unknown = v${i};`,
    )
    .join('\n');
  const files = new Map(PROGRAMS.map((ending) => [path.join(folder, `entries-${resolution}.${ending}`), text]));
  const options: ts.CompilerOptions = {
    ...RESOLUTIONS[resolution],
    ...{ noEmit: true, strict: true, skipLibCheck: true, types: ['node'], target: ts.ScriptTarget.ES2022 },
  };
  const host = ts.createCompilerHost(options);
  const { readFile, fileExists } = host;
  const inMemory: ts.CompilerHost = {
    ...host,
    getCurrentDirectory: () => folder,
    fileExists: (file) => files.has(file) || fileExists(file),
    readFile: (file) => files.get(file) ?? readFile(file),
    getSourceFile: (file, version, ...rest) =>
      files.has(file)
        ? ts.createSourceFile(file, files.get(file)!, version)
        : host.getSourceFile(file, version, ...rest),
  };
  const program = ts.createProgram([...files.keys()], options, inMemory);
  return ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), inMemory);
};
