import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Place } from './callTree';
import { isDeclared, reachOf, refersTo } from './callTree';
import { read, ROOT } from '../project';

/**
 * Reads docs/internals/follow-a-task.md: files, each followed by functions that it holds. A hop
 * that is no call has a mark in front of it: _entry_, _activity_, _workflow_, _field_ `name` and
 * _table_ `name`.
 */

const CODE = '`([^`]+)`';
const MARK = '_(entry|activity|workflow|field|table)_(?: `(\\w+)`)?';
const FILE = /^[\w-]+(\/[\w-]+)+\.ts$/;
const NAME = /^[A-Za-z]\w+(\.\w+)?$/;
/** Tables, views and settings that a hop speaks of. */
const TABLES = new Set(['task', 'queue', 'member', 'lane_queue', 'task_state', 'signalWithStart']);

export interface Hop extends Place {
  /** How it comes to run, if not by a call. */
  mark: string | null;
}

/** Returns the hops of each section, item by item. In an item, names stand behind their file. */
export const hopsIn = (page: string): Hop[][][] =>
  page.split(/^## /m).map((section) =>
    section.split(/\n\n|\n(?=\d+\. )/).map((item) => {
      let file: string | null = null;
      let mark: string | null = null;
      return [...item.matchAll(new RegExp(`${MARK}|${CODE}`, 'g'))].flatMap(([, marked, of, code]): Hop[] => {
        if (marked !== undefined) mark = of === undefined ? marked : `${marked} ${of}`;
        else if (FILE.test(code!)) file = code!;
        else if (NAME.test(code!) && file !== null && !TABLES.has(code!)) {
          const hop = { file, name: code!, mark };
          mark = null;
          return [hop];
        }
        return [];
      });
    }),
  );

/**
 * Returns what is wrong: each hop must be called by the one named before it, or by a caller of that
 * one. The first of an item may also go on from where the page named it before.
 */
export const problemsOf = (page: string): string[] => {
  const problems: string[] = [];
  const chains = new Map<string, Hop[]>();
  for (const section of hopsIn(page)) {
    let callers: Hop[] = [];
    for (const hop of section.flat()) {
      const key = `${hop.file} ${hop.name}`;
      if (!existsSync(path.join(ROOT, hop.file)) || !isDeclared(hop.file, hop.name)) {
        problems.push(`${key} is not there`);
        continue;
      }
      const chain = chains.get(key);
      const isFirst = section.some((item) => item[0] === hop);
      const at = hop.mark === 'entry' ? -1 : callers.findLastIndex((caller) => leadsTo(caller, hop));
      if (at === -1 && isFirst && chain !== undefined) callers = chain;
      else {
        const isLost = at === -1 && hop.mark !== 'entry';
        if (isLost)
          problems.push(
            `${callers.map(({ name }) => name).join(' > ')} does not lead to ${key} (${hop.mark ?? 'call'})`,
          );
        callers = [...(isLost ? callers : callers.slice(0, at + 1)), hop];
        chains.set(key, callers);
      }
    }
  }
  return problems;
};

const leadsTo = (from: Hop, to: Hop): boolean => {
  const [kind, name] = (to.mark ?? 'call').split(' ') as [string, string?];
  switch (kind) {
    case 'activity':
      return activitiesOf(to).some((activity) => reaches(from, activity));
    case 'workflow':
      return reachOf(from).texts.has(to.name) && read('workflows/index.ts').includes(exportOf(to));
    case 'field':
      return reaches(from, name!) && reaches(to, name!);
    case 'table':
      return [from, to].every((one) => [...reachOf(one).texts].some((text) => new RegExp(`\\b${name}\\b`).test(text)));
    default:
      return refersTo(from, to);
  }
};

const reaches = (place: Place, name: string): boolean => {
  const { names, members } = reachOf(place);
  return names.has(name) || members.has(name);
};

/** Returns the export of a workflow in `workflows/index.ts`: Temporal starts no other. */
const exportOf = ({ file, name }: Place): string => `export { ${name} } from './${path.basename(file, '.ts')}';`;

/** Returns the names under which `activities/index.ts` registers a function. */
const activitiesOf = ({ name }: Place): string[] =>
  read('activities/index.ts')
    .split(/\n(?= {2}\w+: )/)
    .filter((text) => new RegExp(`=>\\s+${name}\\(`).test(text))
    .map((text) => text.trim().split(':')[0]!);
