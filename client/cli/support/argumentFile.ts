import { MusterError } from '../../errors';
import { INVALID_UTF8, lineGroups } from './lines';
import type { Output } from './output';
import type { Staged } from './spool';

/** Most bytes of a line, which is one argument list. */
const MAX_LINE_BYTES = 1_048_576;

/**
 * Yields the argument lists of a JSON Lines file, each of which is an array of strings.
 *
 * @throws MusterError that names the first line that is not.
 */
export async function* argumentLists(file: Staged, out: Output): AsyncGenerator<readonly string[]> {
  const bar = out.progress('accepting', file.bytes, 'bytes');
  try {
    for await (const { lines, bytes } of lineGroups(file.read(), MAX_LINE_BYTES)) {
      for (const { number, text } of lines) yield listOf(file.name, number, text);
      bar.update(bytes);
    }
  } finally {
    bar.stop();
  }
}

const listOf = (name: string, number: number, text: string | null): readonly string[] => {
  const refuse = (expected: string, got: string): never => {
    throw new MusterError(
      'INVALID_LINES',
      `${name}, line ${number}: expected ${expected}, got ${got}. Nothing was accepted.`,
    );
  };
  if (text === null) return refuse(`at most ${MAX_LINE_BYTES} bytes`, 'more');
  if (text === INVALID_UTF8) return refuse('UTF-8 text', 'other bytes');
  const shown = text.length > 80 ? `${text.slice(0, 80)}...` : text;
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return refuse('a JSON array of strings such as ["--id", "17"]', shown);
  }
  if (!Array.isArray(list) || list.some((one) => typeof one !== 'string'))
    return refuse('a JSON array of strings such as ["--id", "17"]', shown);
  return list as string[];
};
