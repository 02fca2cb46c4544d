import path from 'node:path';
import { cutText } from './text';

/** Most frames, and most characters, that are kept of one error's stack. */
const FRAMES_MAX = 8;
const STACK_CHARACTERS_MAX = 1_500;

/**
 * Folders of Muster's own code around a call. Frames above them on the stack belong to the user's
 * code.
 */
const OWN = ['handlers', 'activities'].map((folder) => path.resolve(__dirname, '..', folder) + path.sep);

const isFrame = (line: string): boolean => /^\s+at /.test(line);
const isForeign = (line: string): boolean =>
  /\(?node:|\/node_modules\/|\\node_modules\\/.test(line) || line.includes('<anonymous>');

const rawStackOf = (thrown: unknown): string | null => {
  try {
    const { stack } = (thrown ?? {}) as { stack?: unknown };
    return typeof stack === 'string' ? stack : null;
  } catch {
    return null; // a getter that throws
  }
};

const framesAbove = (stack: string): string[] => {
  const frames = stack
    .split('\n')
    .filter(isFrame)
    .map((line) => line.trim());
  const own = frames.findIndex((line) => OWN.some((folder) => line.includes(folder)));
  return own === -1 ? frames : frames.slice(0, own);
};

/**
 * Returns the frames of a thrown error down to Muster's own, without its message; null: no frame
 * belongs to the user's code. Keeps at most 8 frames and 1,500 characters, and at most two frames
 * of a library above the user's first one.
 */
export const stackOf = (thrown: unknown, depth = 0): string | null => {
  const stack = rawStackOf(thrown);
  if (stack === null) return null;
  const frames = framesAbove(stack);
  const first = frames.findIndex((line) => !isForeign(line));
  if (first === -1) {
    const { cause } = thrown as { cause?: unknown };
    return depth < 3 && cause !== undefined ? stackOf(cause, depth + 1) : null;
  }
  const from = Math.max(0, first - 2);
  return cutText(frames.slice(from, from + FRAMES_MAX).join('\n'), STACK_CHARACTERS_MAX);
};

/** Returns the first frame of the user's code in a stack of `stackOf`: file, line and column. */
export const userFrame = (stack: string): string => {
  const lines = stack.split('\n');
  const line = lines.find((one) => !isForeign(one)) ?? lines[0]!;
  return /\((.*)\)$/.exec(line)?.[1] ?? line.replace(/^at (async )?/, '');
};
