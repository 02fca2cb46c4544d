import { otherNumber } from './otherNumber';

/** A change of a statement's text: offsets in it. */
export interface SqlChange {
  kind: string;
  start: number;
  end: number;
  replacement: string;
}

interface Token {
  text: string;
  start: number;
  end: number;
  depth: number;
  /** Of its own parentheses, or of those around them: `where`, `set`, `on`. */
  clause: string;
}

/** Comments, quoted texts and names are one token each; a parameter and a cast are one. */
const TOKEN =
  /\/\*[\s\S]*?\*\/|--.*|'(?:[^']|'')*'|"[^"]*"|\$\d+|::\w+|\w+(?:\.\w+)*|<=|>=|<>|!=|@>|<@|&&|\|\||->>?|[^\s\w]/g;
const CLAUSES = new Set(['select', 'from', 'where', 'set', 'on', 'having', 'when', 'then', 'values', 'returning']);
const ENDS = new Set([
  ...CLAUSES,
  'group',
  'order',
  'limit',
  'for',
  'window',
  'end',
  'else',
  'join',
  'left',
  'cross',
  'union',
]);
const CONDITIONS = new Set(['where', 'on', 'having', 'when']);

const tokensOf = (sql: string): Token[] => {
  const clauses = [''];
  const tokens: Token[] = [];
  for (const match of sql.matchAll(TOKEN)) {
    const text = match[0].toLowerCase();
    if (/^(\/\*|--)/.test(text)) continue;
    if (text === ')' && clauses.length > 1) clauses.pop();
    const depth = clauses.length - 1;
    if (CLAUSES.has(text)) clauses[depth] = text;
    else if (['order', 'group', 'limit', 'end', 'else', ';'].includes(text)) clauses[depth] = text;
    tokens.push({ text, start: match.index, end: match.index + match[0].length, depth, clause: clauses[depth]! });
    if (text === '(') clauses.push(clauses[depth]!);
  }
  return tokens;
};

const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '<>': ['='],
};
const WORDS: Readonly<Record<string, readonly [kind: string, by: string]>> = {
  true: ['constant', 'false'],
  false: ['constant', 'true'],
  min: ['function', 'max'],
  max: ['function', 'min'],
  least: ['function', 'greatest'],
  greatest: ['function', 'least'],
};

/** Returns what a statement may become; where it is not one any more, every test of it fails. */
export const sqlChanges = (sql: string): SqlChange[] => {
  const tokens = tokensOf(sql);
  return tokens.flatMap((token, i) => [
    ...ofToken(token, tokens[i - 1], tokens[i + 1]),
    ...ofNull(tokens, i),
    ...ofLock(tokens, i),
    ...ofGuard(tokens, i),
  ]);
};

const ofToken = (token: Token, before: Token | undefined, after: Token | undefined): SqlChange[] => {
  const { text, start, end, clause } = token;
  const change = (kind: string, replacement: string): SqlChange => ({ kind, start, end, replacement });
  if (text === '=') return CONDITIONS.has(clause) ? [change('comparison', '<>')] : [];
  const comparisons = COMPARISONS[text];
  if (comparisons !== undefined)
    return comparisons.map((by, i) => change(i === 0 && text !== '<>' ? 'boundary' : 'comparison', by));
  if (/^\d+$/.test(text) && before?.text !== '.' && !['order', 'group'].includes(clause))
    return [change('constant', otherNumber(Number(text)))];
  const word = WORDS[text];
  if (word === undefined || (word[0] === 'function' && after?.text !== '(')) return [];
  return [change(...word)];
};

const ofNull = (tokens: readonly Token[], i: number): SqlChange[] => {
  const [is, not, last] = [tokens[i]!, tokens[i + 1], tokens[i + 2]];
  if (is.text === 'not' && not?.text === 'exists')
    return [{ kind: 'comparison', start: is.start, end: not.end, replacement: 'exists' }];
  if (is.text !== 'is') return [];
  if (not?.text === 'null') return [{ kind: 'comparison', start: is.start, end: not.end, replacement: 'is not null' }];
  if (not?.text === 'not' && last?.text === 'null')
    return [{ kind: 'comparison', start: is.start, end: last.end, replacement: 'is null' }];
  return [];
};

/** `for update`, `for no key update`, with or without `skip locked`. */
const ofLock = (tokens: readonly Token[], i: number): SqlChange[] => {
  const [first, ...next] = tokens.slice(i, i + 6);
  if (first?.text === 'skip' && next[0]?.text === 'locked')
    return [{ kind: 'lock', start: first.start, end: next[0].end, replacement: '' }];
  if (first?.text !== 'for') return [];
  const strength = next.findIndex(({ text }) => text === 'update' || text === 'share');
  const isLock = strength >= 0 && next.slice(0, strength).every(({ text }) => ['no', 'key'].includes(text));
  if (!isLock) return [];
  const isSkipping = next[strength + 1]?.text === 'skip';
  const last = next[isSkipping ? strength + 2 : strength] ?? next[strength]!;
  return [{ kind: 'lock', start: first.start, end: last.end, replacement: '' }];
};

/** A condition left out: one between `where`, `on`, `and` and what follows it. */
const ofGuard = (tokens: readonly Token[], i: number): SqlChange[] => {
  const token = tokens[i]!;
  const isFirst = ['where', 'on'].includes(token.text) && tokens[i + 1]?.text !== 'conflict';
  if (!(isFirst || (token.text === 'and' && CONDITIONS.has(token.clause)))) return [];
  if (token.text === 'and' && isBetween(tokens, i)) return [];
  const last = lastOf(tokens, i);
  if (last === i) return [];
  const [start, end] = [tokens[i + 1]!.start, tokens[last]!.end];
  return [{ kind: 'guard', start, end, replacement: 'true' }];
};

const isBetween = (tokens: readonly Token[], i: number): boolean => {
  const { depth } = tokens[i]!;
  for (let at = i - 1; at >= 0 && tokens[at]!.depth >= depth; at--) {
    if (tokens[at]!.depth > depth) continue;
    if (tokens[at]!.text === 'between') return true;
    if (tokens[at]!.text === 'and' || ENDS.has(tokens[at]!.text)) return false;
  }
  return false;
};

/** Returns where a condition that begins after token `i` ends. */
const lastOf = (tokens: readonly Token[], i: number): number => {
  const { depth } = tokens[i]!;
  let isAfterBetween = false;
  for (let at = i + 1; at < tokens.length; at++) {
    const token = tokens[at]!;
    if (token.depth < depth || (token.text === ')' && token.depth === depth - 1)) return at - 1;
    if (token.depth > depth) continue;
    if (token.text === 'between') isAfterBetween = true;
    else if (token.text === 'and' && isAfterBetween) isAfterBetween = false;
    else if (['and', 'or', ';'].includes(token.text) || (ENDS.has(token.text) && !isCase(tokens, i, at))) return at - 1;
  }
  return tokens.length - 1;
};
/** Words of `case when ... end` that begins within the condition do not end it. */
const isCase = (tokens: readonly Token[], i: number, at: number): boolean =>
  tokens.slice(i + 1, at).filter(({ text }) => text === 'case').length >
  tokens.slice(i + 1, at).filter(({ text }) => text === 'end').length;
