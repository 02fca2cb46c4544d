import type { ASTNode } from '@marcbachmann/cel-js' with { 'resolution-mode': 'import' };

/**
 * Functions that a counted expression calls, and that no written one can: they are known to the
 * counted environment alone.
 */
export const TURN = 'musterTurn';
export const GIVEN = 'musterGiven';
export const SPEND = 'musterSpend';
export const NEEDLE = 'musterNeedle';
export const MATCHES = 'musterMatches';

/** Macros whose first argument is a variable, by their numbers of arguments. */
const LOOPS: Readonly<Record<string, readonly number[]>> = {
  all: [2],
  exists: [2],
  exists_one: [2],
  filter: [2],
  map: [2, 3],
};
/** Methods that look for a text in another. */
const SEARCHES = new Set(['contains', 'indexOf', 'lastIndexOf', 'split']);
/** Operators that read all of their operands. */
const READING = new Set(['in', '==', '!=', '+', '<', '<=', '>', '>=']);

type Call = Extract<ASTNode, { op: 'rcall' }>;

/**
 * Returns an expression as CEL that counts what it does: each turn of a loop, and each value that
 * an operator or a function reads. Its value is the same as long as the meter allows.
 */
export function countedText(node: ASTNode): string {
  switch (node.op) {
    case 'value':
      return sourceOf(node);
    case 'id':
      return node.args;
    case '.':
      return `${countedText(node.args[0])}.${node.args[1]}`;
    case '[]':
      return `${countedText(node.args[0])}[${countedText(node.args[1])}]`;
    case '!_':
      return `(!${countedText(node.args)})`;
    case '-_':
      return `(-${countedText(node.args)})`;
    case '?:':
      return `(${countedText(node.args[0])} ? ${countedText(node.args[1])} : ${countedText(node.args[2])})`;
    case 'list':
      return `[${node.args.map(countedText).join(', ')}]`;
    case 'map':
      return `{${node.args.map(([key, value]) => `${countedText(key)}: ${countedText(value)}`).join(', ')}}`;
    case 'call':
      return callText(...node.args);
    case 'rcall':
      return methodText(node.args);
    case '.?':
    case '[?]':
      throw new Error(`${node.op} is not known here`); // optional types are switched off
    default: {
      const operand = READING.has(node.op) ? spentText : countedText;
      return `(${operand(node.args[0])} ${node.op} ${operand(node.args[1])})`;
    }
  }
}

/** Returns a literal as it was written. */
const sourceOf = ({ input, range }: ASTNode): string => input.slice(range.start, range.end);

const spentText = (node: ASTNode): string => (node.op === 'value' ? sourceOf(node) : `${SPEND}(${countedText(node)})`);

function callText(name: string, args: readonly ASTNode[]): string {
  // A macro: its argument is no value.
  const all = args.map(name === 'has' ? countedText : spentText);
  return `${name}(${all.join(', ')})`;
}

function methodText([name, receiver, args]: Call['args']): string {
  if (isLoop(name, args)) return loopText(name, receiver, args);
  const texts = args.map(countedText);
  if (name === 'bind' && receiver.op === 'id' && receiver.args === 'cel') return `cel.bind(${texts.join(', ')})`;
  const [first, ...rest] = args;
  if (name === 'matches' && first !== undefined) return `${spentText(receiver)}.${MATCHES}(${countedText(first)})`;
  if (!SEARCHES.has(name) || first === undefined || first.op === 'value')
    return `${spentText(receiver)}.${name}(${args.map(spentText).join(', ')})`;
  return `${spentText(receiver)}.${name}(${[`${NEEDLE}(${countedText(first)})`, ...rest.map(spentText)].join(', ')})`;
}

const isLoop = (name: string, args: readonly ASTNode[]): boolean =>
  Object.hasOwn(LOOPS, name) && LOOPS[name]!.includes(args.length) && args[0]!.op === 'id';

/** Ends a loop whose meter is at its end, whatever the loop makes of an error in it. */
function loopText(name: string, receiver: ASTNode, args: readonly ASTNode[]): string {
  const [variable, body, transformed] = args.map(countedText);
  const over = `${countedText(receiver)}.${name}(${variable}, `;
  if (transformed !== undefined) return `${over}${TURN}() && ${GIVEN}(${body}), ${transformed})`;
  if (name === 'map') return `${over}${TURN}(), ${GIVEN}(${body}))`;
  return name === 'exists' ? `${over}!${TURN}() || ${GIVEN}(${body}))` : `${over}${TURN}() && ${GIVEN}(${body}))`;
}

/** Calls `visit` with a node and all that is in it. */
export function visitNodes(node: ASTNode, visit: (node: ASTNode) => void): void {
  visit(node);
  for (const inner of innerNodes(node)) visitNodes(inner, visit);
}

const isNode = (value: unknown): value is ASTNode => typeof value === 'object' && value !== null && 'op' in value;

const innerNodes = ({ args }: ASTNode): ASTNode[] => ([args] as unknown[]).flat(Infinity).filter(isNode);
