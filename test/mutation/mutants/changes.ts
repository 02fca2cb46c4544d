import ts from 'typescript';
import type { Change } from './change';
import { otherNumber } from './otherNumber';

/** What a node of code may become: each is the mistake of one keystroke or one forgotten line. */
export const changesOf = (node: ts.Node, source: ts.SourceFile): Change[] => [
  ...ofOperator(node, source),
  ...ofCondition(node, source),
  ...ofValue(node, source),
  ...ofStatement(node),
  ...ofCall(node, source),
];

type Swaps = Readonly<Record<string, readonly (readonly [kind: string, by: string])[]>>;
const SWAPS: Swaps = {
  '<': [
    ['boundary', '<='],
    ['comparison', '>='],
  ],
  '<=': [
    ['boundary', '<'],
    ['comparison', '>'],
  ],
  '>': [
    ['boundary', '>='],
    ['comparison', '<='],
  ],
  '>=': [
    ['boundary', '>'],
    ['comparison', '<'],
  ],
  '===': [['comparison', '!==']],
  '!==': [['comparison', '===']],
  '-': [['arithmetic', '+']],
  '*': [['arithmetic', '/']],
  '/': [['arithmetic', '*']],
  '%': [['arithmetic', '*']],
  '+=': [['arithmetic', '-=']],
  '-=': [['arithmetic', '+=']],
};
/** Of numbers only: texts are joined by it, too. */
const PLUS: Swaps = { '+': [['arithmetic', '-']] };
const isText = (node: ts.Node): boolean =>
  ts.isStringLiteralLike(node) ||
  ts.isTemplateExpression(node) ||
  (ts.isBinaryExpression(node) && (isText(node.left) || isText(node.right)));

const ofOperator = (node: ts.Node, source: ts.SourceFile): Change[] => {
  if (!ts.isBinaryExpression(node)) return [];
  const { left, right, operatorToken } = node;
  const operator = operatorToken.getText(source);
  const range = { start: operatorToken.getStart(source), end: operatorToken.end };
  const swaps = SWAPS[operator] ?? (isText(node) ? undefined : PLUS[operator]) ?? [];
  const changes: Change[] = swaps.map(([kind, replacement]) => ({ kind, node, range, replacement }));
  if (!['&&', '||', '??'].includes(operator)) return changes;
  const sides = [left, right].map((side) => side.getText(source));
  return [...changes, ...sides.map((replacement) => ({ kind: 'logical', node, replacement }))];
};

const ofCondition = (node: ts.Node, source: ts.SourceFile): Change[] => {
  if (ts.isIfStatement(node) || ts.isWhileStatement(node))
    return [{ kind: 'guard', node: node.expression, replacement: 'false' }];
  if (ts.isConditionalExpression(node))
    return [{ kind: 'condition', node: node.condition, replacement: `!(${node.condition.getText(source)})` }];
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken)
    return [{ kind: 'condition', node, replacement: node.operand.getText(source) }];
  return [];
};

/** A name of a state, a decision or a field; not prose. */
const NAME = /^[a-z][\w-]*$/i;
const isValue = ({ parent }: ts.Node): boolean =>
  !ts.isCaseClause(parent) &&
  !ts.isElementAccessExpression(parent) &&
  !ts.isLiteralTypeNode(parent) &&
  !(ts.isBinaryExpression(parent) && /^[!=]==$|^in$/.test(parent.operatorToken.getText()));
const isKey = (node: ts.Node): boolean =>
  (ts.isPropertyAssignment(node.parent) || ts.isMethodDeclaration(node.parent)) && node.parent.name === node;

/** In a constant with a name in capitals. */
const isChoice = ({ parent }: ts.Node): boolean =>
  ts.isVariableDeclaration(parent)
    ? /^[A-Z][A-Z\d_]+$/.test(parent.name.getText())
    : IN_CONSTANTS.has(parent.kind) && isChoice(parent);
const IN_CONSTANTS = new Set([
  ts.SyntaxKind.BinaryExpression,
  ts.SyntaxKind.ObjectLiteralExpression,
  ts.SyntaxKind.PropertyAssignment,
  ts.SyntaxKind.AsExpression,
]);

/** Under which a statement is prepared: it may have any, or none. */
const isStatementName = ({ parent }: ts.Node): boolean =>
  ts.isPropertyAssignment(parent) && parent.name.getText() === 'name' && hasText(parent.parent);
const hasText = ({ properties }: ts.ObjectLiteralExpression): boolean =>
  properties.some((property) => property.name?.getText() === 'text');

const ofValue = (node: ts.Node, source: ts.SourceFile): Change[] => {
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [{ kind: 'boolean', node, replacement: 'false' }];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [{ kind: 'boolean', node, replacement: 'true' }];
  if (isKey(node) || isStatementName(node) || ts.isLiteralTypeNode(node.parent)) return [];
  if (ts.isNumericLiteral(node)) {
    const value = Number(node.getText(source).replaceAll('_', ''));
    return [{ kind: 'constant', node, replacement: otherNumber(value, isChoice(node)) }];
  }
  if (ts.isStringLiteral(node) && NAME.test(node.text) && isValue(node))
    return [{ kind: 'constant', node, replacement: `''` }];
  if (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) {
    const isUp = node.operator === ts.SyntaxKind.PlusPlusToken;
    if (!isUp && node.operator !== ts.SyntaxKind.MinusMinusToken) return [];
    const replacement = node.getText(source).replace(isUp ? '++' : '--', isUp ? '--' : '++');
    return [{ kind: 'arithmetic', node, replacement }];
  }
  return [];
};

const ofStatement = (node: ts.Node): Change[] => {
  if (!ts.isExpressionStatement(node) || ts.isStringLiteral(node.expression)) return [];
  return isSuperCall(node.expression) ? [] : [{ kind: 'statement', node, replacement: ';' }];
};
const isSuperCall = (node: ts.Expression): boolean =>
  ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.SuperKeyword;

const METHODS: Readonly<Record<string, string>> = { some: 'every', every: 'some', min: 'max', max: 'min' };
/** Without it, what it was called on is left. */
const DROPPED = new Set(['filter', 'sort', 'toSorted', 'reverse', 'toReversed', 'slice']);

const ofCall = (node: ts.Node, source: ts.SourceFile): Change[] => {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return [];
  const { name, expression } = node.expression;
  const other = METHODS[name.text];
  if (other !== undefined) {
    const range = { start: name.getStart(source), end: name.end };
    return [{ kind: 'method', node, range, replacement: other }];
  }
  if (!DROPPED.has(name.text) || ts.isExpressionStatement(node.parent)) return [];
  return [{ kind: 'method', node, replacement: expression.getText(source) }];
};
