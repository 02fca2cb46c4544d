import { read } from '../../project/project';
import type { Mutant } from '../mutants/mutant';
import type { Defect } from './defects';

/** Returns the defect as a mutant. Throws if its text is not there, or is there twice. */
export const plant = ({ file, what, from, to }: Defect): Mutant => {
  const text = read(file);
  const start = text.indexOf(from);
  if (start < 0 || text.includes(from, start + 1))
    throw new Error(`Cannot plant "${what}": ${file} has "${from}" not once. Adjust the defect to the code.`);
  const end = start + from.length;
  const line = text.slice(0, start).split('\n').length;
  const spot = { start, end, isStatement: false };
  return { file, line, kind: 'wiring', start, end, original: from, replacement: to, spot };
};
