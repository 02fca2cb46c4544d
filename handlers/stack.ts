import path from 'node:path';
import { cutText } from './text';

/** Most frames and characters that are kept of one error. */
const FRAMES_MAX = 8;
const STACK_CHARACTERS_MAX = 1_500;

/** Muster's own files around a call; frames above them on the stack are the user's. */
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
 * Returns the frames of a thrown error down to Muster's own, without its message; null if none of
 * them is the user's. Bounded. If a library's frames above the user's first line are too many, they
 * are left out.
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

/** Returns the first line of the user's code in a stack of `stackOf`: file, line and column. */
export const userFrame = (stack: string): string => {
  const lines = stack.split('\n');
  const line = lines.find((one) => !isForeign(one)) ?? lines[0]!;
  return /\((.*)\)$/.exec(line)?.[1] ?? line.replace(/^at (async )?/, '');
};
