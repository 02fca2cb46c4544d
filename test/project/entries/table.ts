import { read } from '../project';

/** A row of the table of entries in docs/client.md. */
export interface Row {
  name: string;
  /** Bytes of all that is installed for it, and the number of packages. */
  bytes: number;
  packages: number;
  modules: number;
  /** Median CPU time of the import. */
  ms: number;
}

const HEADING = ['Entry', 'Installed', 'Modules loaded', 'CPU time'] as const;

/** Returns the table as Markdown, which Prettier aligns. */
export const showTable = (rows: readonly Row[]): string =>
  [HEADING, HEADING.map(() => '---'), ...rows.map(cells)].map((one) => `| ${one.join(' | ')} |`).join('\n');

const cells = ({ name, bytes, packages, modules, ms }: Row): string[] => [
  `\`${name}\``,
  `${Math.round(bytes / 1e6)} MB, ${packages} packages`,
  modules.toLocaleString('en'),
  `${Math.round(ms / 10) * 10} ms`,
];

const ROW = /^\| `([^`]+)` +\| (\d+) MB, (\d+) packages +\| ([\d,]+) +\| (\d+) ms +\|$/gm;

/** Returns the rows that docs/client.md shows. */
export const readTable = (page = read('docs/client.md')): Row[] =>
  [...page.matchAll(ROW)].map(([, name, megabytes, packages, modules, ms]) => ({
    name: name!,
    bytes: Number(megabytes) * 1e6,
    packages: Number(packages),
    modules: Number(modules!.replaceAll(',', '')),
    ms: Number(ms),
  }));
