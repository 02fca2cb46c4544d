import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Judged, Verdict } from './judge';
import { keyOf, oneLine } from './mutants/mutant';

/** What is kept of a folder in scores.json. */
export interface Score {
  /** Percent of the mutants that a test saw; those that are no program do not count. */
  score: number;
  mutants: number;
  killed: number;
  endless: number;
  survived: number;
  untouched: number;
  /** The whole folder, or a sample that the command repeats. */
  of: string;
}
export interface Survivor {
  key: string;
  verdict: Verdict;
  /** Why no test can see it, or why none should. Written by hand, and kept. */
  reason: string;
}
export interface Kept {
  folders: Record<string, Score>;
  survivors: Survivor[];
}

const SCORES = path.join(__dirname, 'scores.json');
export const readScores = (file = SCORES): Kept =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Kept) : { folders: {}, survivors: [] };

export const scoreOf = (judged: readonly Judged[], of: string): Score => {
  const count = (verdict: Verdict): number => judged.filter((one) => one.verdict === verdict).length;
  const [killed, endless] = [count('killed'), count('endless')];
  const mutants = judged.length - count('invalid');
  const score = mutants === 0 ? 100 : Math.floor((1_000 * (killed + endless)) / mutants) / 10;
  return { score, mutants, killed, endless, survived: count('survived'), untouched: count('untouched'), of };
};

export const survivorsOf = (judged: readonly Judged[]): Judged[] =>
  judged.filter(({ verdict }) => verdict === 'survived' || verdict === 'untouched');

/** Returns the scores with a folder measured again; what was written of its survivors is kept. */
export const withFolder = (kept: Kept, folder: string, score: Score, judged: readonly Judged[]): Kept => {
  const reasons = new Map(kept.survivors.map(({ key, reason }) => [key, reason]));
  const others = kept.survivors.filter(({ key }) => !key.startsWith(`${folder}/`));
  const own = new Map<string, Survivor>();
  for (const { mutant, verdict } of survivorsOf(judged)) {
    const key = keyOf(mutant);
    own.set(key, { key, verdict, reason: reasons.get(key) ?? '' });
  }
  const survivors = [...others, ...own.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
  return { folders: { ...kept.folders, [folder]: score }, survivors };
};

export const writeScores = (kept: Kept, file = SCORES): void =>
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`);

/** Returns a line per survivor: where it is, and what it was. */
export const lineOf = ({ mutant, verdict }: Judged): string =>
  `${verdict.padEnd(9)} ${mutant.file}:${mutant.line}  ${mutant.kind}: ${oneLine(mutant.original)} -> ${oneLine(mutant.replacement)}`;
