/**
 * "One clause per line": finds `from`, `where` and `returning` behind another clause of the same
 * statement. A subquery that begins and ends on one line may have all of its clauses there, and so
 * may a statement that is one line.
 */

interface Token {
  text: string;
  line: number;
  isFirst: boolean;
}

const TOKEN = /\/\*[^]*?\*\/|'(?:[^']|'')*'|"[^"]*"|[A-Za-z_][\w.]*|[()]|[^\s]/g;

const tokensOf = (sql: string): Token[] => {
  let line = 0;
  let at = 0;
  let isFirst = true;
  return [...sql.matchAll(TOKEN)].flatMap(({ 0: text, index }) => {
    const breaks = sql.slice(at, index).split('\n').length - 1;
    isFirst ||= breaks > 0;
    line += breaks;
    at = index;
    if (text.startsWith('/*')) return [];
    const token = { text, line, isFirst };
    isFirst = false;
    return [token];
  });
};

/** A statement, or what stands in brackets. */
interface Frame {
  opened: number;
  isStatement: boolean | null;
  found: number[];
}

/** Returns the lines, from 0, on which a clause stands behind another. */
const crowdedLines = (sql: string): number[] => {
  if (!sql.includes('\n')) return [];
  const root: Frame = { opened: -1, isStatement: true, found: [] };
  const frames = [root];
  const closed: number[] = [];
  let before = '';
  for (const { text, line, isFirst } of tokensOf(sql)) {
    const frame = frames.at(-1)!;
    const begins = frame.isStatement === null || (frame === root && before === '');
    if (text === '(') frames.push({ opened: line, isStatement: null, found: [] });
    else if (text === ')') {
      if (frames.length > 1) frames.pop();
      if (frame.opened !== line) closed.push(...frame.found);
    } else if (
      frame.isStatement === true &&
      !begins &&
      !isFirst &&
      (/^(where|returning)$/.test(text) || (text === 'from' && !/^(delete|distinct|select)$/.test(before)))
    )
      frame.found.push(line);
    frame.isStatement ??= /^(select|insert|update|delete|with)$/.test(text);
    before = text;
  }
  return [...new Set([...closed, ...root.found])].sort((a, b) => a - b);
};

/** Returns the lines of a file's statements, from 1, on which a clause stands behind another. */
export const crowdedIn = (source: string): number[] =>
  [...source.matchAll(/`(?:[^`\\]|\\.)*`/g)].flatMap(({ 0: quoted, index }) => {
    if (!/\b(select|update|delete|insert|returning|where)\b/.test(quoted)) return [];
    const first = source.slice(0, index).split('\n').length;
    return crowdedLines(quoted.slice(1, -1)).map((line) => first + line);
  });
