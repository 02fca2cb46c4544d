import ts from 'typescript';

/**
 * Returns the full names of a file's tests as jest prints them, each with its own line's text in
 * place of what is computed (`%s`, `${...}`): the names of what is around it, and its own.
 */
export const testNames = (text: string): string[] => {
  const found: string[] = [];
  const visit = (node: ts.Node, around: readonly string[]): void => {
    if (ts.isCallExpression(node)) {
      const kind = kindOf(node.expression);
      const title = kind === null ? null : titleOf(node.arguments[0]);
      if (title !== null) {
        const names = [...around, title];
        if (kind === 'test') found.push(names.join(' '));
        for (const argument of node.arguments.slice(1)) visit(argument, kind === 'describe' ? names : around);
        return;
      }
    }
    ts.forEachChild(node, (child) => visit(child, around));
  };
  visit(ts.createSourceFile('a.test.ts', text, ts.ScriptTarget.Latest), []);
  return found;
};

/** Of `test`, `it`, `describe`, and of their `each`, `skip` and `only`. */
const kindOf = (called: ts.Expression): 'test' | 'describe' | null => {
  if (ts.isIdentifier(called)) {
    if (called.text === 'describe') return 'describe';
    return called.text === 'test' || called.text === 'it' ? 'test' : null;
  }
  if (ts.isPropertyAccessExpression(called)) return kindOf(called.expression);
  return ts.isCallExpression(called) ? kindOf(called.expression) : null;
};

const titleOf = (argument: ts.Expression | undefined): string | null => {
  if (argument === undefined) return null;
  if (ts.isStringLiteralLike(argument)) return argument.text;
  if (!ts.isTemplateExpression(argument)) return null;
  const spans = argument.templateSpans.map(({ literal }) => `\${…}${literal.text}`);
  return argument.head.text + spans.join('');
};
