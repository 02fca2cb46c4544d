import ts from 'typescript';

/** The values of parameters, while a function's body is evaluated. */
type Scope = ReadonlyMap<ts.Symbol, unknown>;

/** An expression is known at run time only. */
export class NotConstant extends Error {}

/**
 * Evaluates an expression that is made of constants: literals, templates, `const`s of any module,
 * members of constant objects, and calls of arrow functions with constant arguments. Throws
 * `NotConstant` for anything else.
 */
export class Evaluator {
  constructor(private readonly checker: ts.TypeChecker) {}

  evaluate(node: ts.Expression, scope: Scope = new Map()): unknown {
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isNumericLiteral(node)) return Number(node.text.replaceAll('_', ''));
    if (node.kind === ts.SyntaxKind.TrueKeyword) return true;
    if (node.kind === ts.SyntaxKind.FalseKeyword) return false;
    if (node.kind === ts.SyntaxKind.NullKeyword) return null;
    if (ts.isTemplateExpression(node)) return this.template(node, scope);
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node) || ts.isSatisfiesExpression(node))
      return this.evaluate(node.expression, scope);
    if (ts.isNonNullExpression(node)) return this.evaluate(node.expression, scope);
    if (ts.isIdentifier(node)) return this.identifier(node, scope);
    if (ts.isPropertyAccessExpression(node)) return this.member(node, scope);
    if (ts.isBinaryExpression(node)) return this.binary(node, scope);
    if (ts.isConditionalExpression(node))
      return this.evaluate(this.evaluate(node.condition, scope) ? node.whenTrue : node.whenFalse, scope);
    if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.MinusToken)
      return -(this.evaluate(node.operand, scope) as number);
    if (ts.isArrayLiteralExpression(node)) return node.elements.map((element) => this.evaluate(element, scope));
    if (ts.isObjectLiteralExpression(node)) return this.object(node, scope);
    if (ts.isCallExpression(node)) return this.call(node, scope);
    throw new NotConstant(node.getText());
  }

  private template(node: ts.TemplateExpression, scope: Scope): string {
    const spans = node.templateSpans.map((span) => String(this.evaluate(span.expression, scope)) + span.literal.text);
    return node.head.text + spans.join('');
  }

  private object(node: ts.ObjectLiteralExpression, scope: Scope): Record<string, unknown> {
    const entries = node.properties.map((property): [string, unknown] => {
      if (!ts.isPropertyAssignment(property) || ts.isComputedPropertyName(property.name))
        throw new NotConstant(property.getText());
      return [property.name.text, this.evaluate(property.initializer, scope)];
    });
    return Object.fromEntries(entries);
  }

  private binary(node: ts.BinaryExpression, scope: Scope): unknown {
    const [left, right] = [node.left, node.right].map((side) => this.evaluate(side, scope) as number);
    switch (node.operatorToken.kind) {
      case ts.SyntaxKind.PlusToken:
        return left! + right!;
      case ts.SyntaxKind.MinusToken:
        return left! - right!;
      case ts.SyntaxKind.AsteriskToken:
        return left! * right!;
      case ts.SyntaxKind.SlashToken:
        return left! / right!;
      case ts.SyntaxKind.AsteriskAsteriskToken:
        return left! ** right!;
      case ts.SyntaxKind.EqualsEqualsEqualsToken:
        return left === right;
      default:
        throw new NotConstant(node.getText());
    }
  }

  private identifier(node: ts.Identifier, scope: Scope): unknown {
    if (node.text === 'undefined') return undefined;
    const symbol = this.symbolOf(node);
    if (scope.has(symbol)) return scope.get(symbol);
    return this.evaluate(this.initializerOf(symbol, node));
  }

  private member(node: ts.PropertyAccessExpression, scope: Scope): unknown {
    const symbol = this.symbolOf(node.name as ts.Identifier);
    const declared = symbol.valueDeclaration;
    // Of a namespace import.
    if (declared !== undefined && ts.isVariableDeclaration(declared))
      return this.evaluate(this.initializerOf(symbol, node));
    if (declared !== undefined && ts.isPropertyAssignment(declared)) {
      const outer = this.checker.getSymbolAtLocation(node.expression);
      if (outer === undefined || !scope.has(this.resolved(outer))) return this.evaluate(declared.initializer);
    }
    const value = this.evaluate(node.expression, scope) as Record<string, unknown> | null | undefined;
    if (typeof value !== 'object' || value === null || !(node.name.text in value))
      throw new NotConstant(node.getText());
    return value[node.name.text];
  }

  private call(node: ts.CallExpression, scope: Scope): unknown {
    const called = ts.isPropertyAccessExpression(node.expression) ? node.expression : null;
    if (called !== null && ['trim', 'join'].includes(called.name.text)) {
      const on = this.evaluate(called.expression, scope);
      const args = node.arguments.map((argument) => this.evaluate(argument, scope));
      if (typeof on === 'string' && called.name.text === 'trim') return on.trim();
      if (Array.isArray(on) && called.name.text === 'join') return on.join(args[0] as string | undefined);
    }
    if (!ts.isIdentifier(node.expression)) throw new NotConstant(node.getText());
    const body = this.initializerOf(this.symbolOf(node.expression), node.expression);
    if (!ts.isArrowFunction(body) || ts.isBlock(body.body)) throw new NotConstant(node.getText());
    const inner = new Map<ts.Symbol, unknown>();
    body.parameters.forEach((parameter, i) => {
      const argument = node.arguments[i] ?? parameter.initializer;
      if (!ts.isIdentifier(parameter.name)) throw new NotConstant(node.getText());
      inner.set(this.symbolOf(parameter.name), argument === undefined ? undefined : this.evaluate(argument, scope));
    });
    return this.evaluate(body.body, inner);
  }

  private initializerOf(symbol: ts.Symbol, node: ts.Node): ts.Expression {
    const declared = symbol.valueDeclaration;
    const isConst =
      declared !== undefined &&
      ts.isVariableDeclaration(declared) &&
      (ts.getCombinedNodeFlags(declared) & ts.NodeFlags.Const) !== 0;
    if (!isConst || declared.initializer === undefined) throw new NotConstant(node.getText());
    return declared.initializer;
  }

  private symbolOf(node: ts.Identifier): ts.Symbol {
    const symbol = this.checker.getSymbolAtLocation(node);
    if (symbol === undefined) throw new NotConstant(node.getText());
    return this.resolved(symbol);
  }

  private resolved(symbol: ts.Symbol): ts.Symbol {
    return (symbol.flags & ts.SymbolFlags.Alias) !== 0 ? this.checker.getAliasedSymbol(symbol) : symbol;
  }
}
