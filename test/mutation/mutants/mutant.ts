/** A small defect: other text at one place of a file. */
export interface Mutant {
  /** Relative to the repository. */
  file: string;
  line: number;
  kind: string;
  /** Offsets in the file. */
  start: number;
  end: number;
  replacement: string;
  original: string;
  /** What must be executed for the mutant to matter. */
  spot: Spot;
}

/** An expression, or a statement that stands for itself. */
export interface Spot {
  start: number;
  end: number;
  isStatement: boolean;
}

/** Returns the file's text with the mutant in it. */
export const mutated = (text: string, { start, end, replacement }: Mutant): string =>
  text.slice(0, start) + replacement + text.slice(end);

/** Returns a mutant's name: it outlives edits of other lines. */
export const keyOf = ({ file, kind, original, replacement }: Omit<Mutant, 'start' | 'end' | 'spot' | 'line'>): string =>
  `${file} | ${kind} | ${oneLine(original)} | ${oneLine(replacement)}`;

export const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
