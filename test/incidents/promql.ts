/**
 * Evaluates the expressions of deploy/prometheus and deploy/grafana against scrapes of `/metrics`,
 * as far as these go: selectors, rate and increase, min, max and sum, the four operations,
 * comparisons, `and`, and quantiles. A metric or label that the scrape does not have is an error if
 * that is asked for.
 */

export interface Sample {
  labels: Record<string, string>;
  value: number;
}
/** All samples of a scrape, by name of the metric. */
export type Scrape = ReadonlyMap<string, readonly Sample[]>;

export const scrapeOf = (...texts: string[]): Scrape => {
  const found = new Map<string, Sample[]>();
  for (const line of texts.flatMap((text) => text.split('\n'))) {
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
    if (name === undefined || line.startsWith('#')) continue;
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, text!]);
    found.set(name, [...(found.get(name) ?? []), { labels: Object.fromEntries(pairs), value: Number(value) }]);
  }
  return found;
};

/** The samples of several processes, each with its own `instance`, as Prometheus adds it. */
export const scrapeOfAll = (texts: ReadonlyMap<string, string>): Scrape => {
  const all = new Map<string, Sample[]>();
  for (const [instance, text] of texts)
    for (const [name, samples] of scrapeOf(text)) {
      const own = samples.map(({ labels, value }) => ({ labels: { ...labels, instance }, value }));
      all.set(name, [...(all.get(name) ?? []), ...own]);
    }
  return all;
};

/** A vector, or a number. */
type Value = readonly Sample[] | number;

/** Returns the samples for which a rule fires: what its expression yields of two scrapes. */
export const evaluate = (
  expr: string,
  before: Scrape,
  now: Scrape,
  { strict = false }: { strict?: boolean } = {},
): readonly Sample[] => {
  const value = new Evaluation(expr, before, now, strict).all();
  if (typeof value === 'number') throw new Error(`${expr}: expected a vector, got ${value}`);
  return value;
};

const TOKEN = /\s*(\d+(?:\.\d+)?|[A-Za-z_]\w*|=~|[<>=!]=?|"[^"]*"|[(){}[\],*/+-])/gy;

class Evaluation {
  private readonly tokens: string[] = [];
  private at = 0;

  constructor(
    private readonly expr: string,
    private readonly before: Scrape,
    private readonly now: Scrape,
    private readonly strict: boolean,
  ) {
    TOKEN.lastIndex = 0;
    for (let found = TOKEN.exec(expr); found !== null; found = TOKEN.exec(expr)) this.tokens.push(found[1]!);
    const read = this.tokens.join('').length;
    if (read !== expr.replaceAll(/\s/g, '').length) throw new Error(`${expr}: not understood`);
  }

  all(): Value {
    const value = this.conjunction();
    if (this.at < this.tokens.length) throw new Error(`${this.expr}: not understood from ${this.tokens[this.at]}`);
    return value;
  }

  private take(expected?: string): string {
    const token = this.tokens[this.at++];
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`${this.expr}: expected ${expected ?? 'more'}, got ${token}`);
    return token;
  }
  private has(token: string): boolean {
    if (this.tokens[this.at] !== token) return false;
    this.at++;
    return true;
  }

  private conjunction(): Value {
    let left = this.comparison();
    while (this.has('and')) {
      const right = this.comparison() as readonly Sample[];
      left = (left as readonly Sample[]).filter(({ labels }) => right.some((one) => isSame(one.labels, labels)));
    }
    return left;
  }

  private comparison(): Value {
    const left = this.sum();
    const holds = HOLDS.get(this.tokens[this.at] ?? '');
    if (holds === undefined) return left;
    this.at++;
    const right = this.sum();
    return paired(left as readonly Sample[], right, (a, b) => (holds(a, b) ? a : null));
  }

  private sum(): Value {
    return this.operations('+-', () => this.product());
  }
  private product(): Value {
    return this.operations('*/', () => this.factor());
  }
  private operations(operators: string, operand: () => Value): Value {
    let left = operand();
    for (let next = this.tokens[this.at]; next !== undefined && operators.includes(next); next = this.tokens[this.at]) {
      this.at++;
      left = combined(left, operand(), OPERATIONS.get(next)!);
    }
    return left;
  }

  private factor(): Value {
    const token = this.take();
    if (/^\d/.test(token)) return Number(token);
    if (token === '(') {
      const inner = this.conjunction();
      this.take(')');
      return inner;
    }
    if (['min', 'max', 'sum'].includes(token)) return this.aggregate(token as 'min');
    if (token === 'rate' || token === 'increase') return this.increase();
    if (token === 'histogram_quantile') return this.quantile();
    return this.select(token, this.now);
  }

  private aggregate(how: 'min' | 'max' | 'sum'): Value {
    const by: string[] = [];
    if (this.has('by')) {
      this.take('(');
      while (!this.has(')')) if (!this.has(',')) by.push(this.take());
    }
    this.take('(');
    const inner = this.conjunction() as readonly Sample[];
    this.take(')');
    for (const name of by) this.expectLabel(name, inner);
    const groups = new Map<string, Sample>();
    for (const { labels, value } of inner) {
      const kept = Object.fromEntries(by.map((name) => [name, labels[name] ?? '']));
      const key = JSON.stringify(kept);
      const found = groups.get(key);
      const sum = found === undefined ? value : COMBINED[how](found.value, value);
      groups.set(key, { labels: kept, value: sum });
    }
    return [...groups.values()];
  }

  /** Of a counter between the two scrapes; a rate differs by a factor, which no rule sees. */
  private increase(): Value {
    this.take('(');
    const at = this.at;
    const now = this.select(this.take(), this.now);
    this.at = at;
    const before = this.select(this.take(), this.before);
    this.take('[');
    while (!this.has(']')) this.take();
    this.take(')');
    return now.map(({ labels, value }) => ({
      labels,
      value: value - (before.find((one) => isSame(one.labels, labels))?.value ?? 0),
    }));
  }

  private quantile(): Value {
    this.take('(');
    const wanted = Number(this.take());
    this.take(',');
    const buckets = this.conjunction() as readonly Sample[];
    this.take(')');
    const groups = new Map<string, Sample[]>();
    for (const bucket of buckets) {
      const { le: _, ...rest } = bucket.labels;
      const key = JSON.stringify(rest);
      groups.set(key, [...(groups.get(key) ?? []), bucket]);
    }
    return [...groups].flatMap(([key, found]) => {
      const sorted = found.map(({ labels, value }) => ({
        upTo: Number(labels['le']?.replace('+Inf', 'Infinity')),
        value,
      }));
      sorted.sort((a, b) => a.upTo - b.upTo);
      const all = sorted.at(-1)!.value;
      if (all === 0) return [];
      const at = sorted.findIndex(({ value }) => value >= wanted * all);
      return [{ labels: JSON.parse(key) as Record<string, string>, value: within(sorted, at, wanted * all) }];
    });
  }

  private expectLabel(name: string, samples: readonly Sample[]): void {
    if (this.strict && !samples.some(({ labels }) => name in labels))
      throw new Error(`${this.expr}: no sample has the label ${name}`);
  }

  private select(name: string, of: Scrape): readonly Sample[] {
    const all = of.get(name) ?? [];
    // Counters may begin between the two scrapes.
    if (this.strict && of === this.now && all.length === 0) throw new Error(`${this.expr}: there is no metric ${name}`);
    const wanted: ((labels: Record<string, string>) => boolean)[] = [];
    if (this.has('{'))
      while (!this.has('}')) {
        if (this.has(',')) continue;
        const [label, operator, text] = [this.take(), this.take(), this.take().slice(1, -1)];
        if (of === this.now) this.expectLabel(label, all);
        wanted.push((labels) => {
          if (operator !== '=~') return (labels[label] === text) === (operator === '=');
          return new RegExp(`^(?:${text})$`).test(labels[label] ?? '');
        });
      }
    return all.filter(({ labels }) => wanted.every((fits) => fits(labels)));
  }
}

const HOLDS: ReadonlyMap<string, (a: number, b: number) => boolean> = new Map([
  ['>', (a: number, b: number) => a > b],
  ['<', (a: number, b: number) => a < b],
  ['>=', (a: number, b: number) => a >= b],
  ['<=', (a: number, b: number) => a <= b],
  ['==', (a: number, b: number) => a === b],
]);
/**
 * Returns where in a bucket the one of this rank lies, if they are spread evenly, as Prometheus
 * does.
 */
const within = (buckets: readonly { upTo: number; value: number }[], at: number, rank: number): number => {
  const { upTo, value } = buckets[at]!;
  const { upTo: from, value: below } = buckets[at - 1] ?? { upTo: 0, value: 0 };
  return Number.isFinite(upTo) ? from + ((upTo - from) * (rank - below)) / (value - below) : from;
};

const COMBINED = { min: Math.min, max: Math.max, sum: (a: number, b: number): number => a + b };

const isSame = (a: Record<string, string>, b: Record<string, string>): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([name, value]) => b[name] === value);

type Operation = (a: number, b: number) => number;
const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => a / b],
]);

const combined = (left: Value, right: Value, operation: Operation): Value => {
  if (typeof left !== 'number') return paired(left, right, operation);
  if (typeof right === 'number') return operation(left, right);
  return right.map(({ labels, value }) => ({ labels, value: operation(left, value) }));
};

/** Combines each sample with the number, or with the sample of the same labels. */
const paired = (
  left: readonly Sample[],
  right: Value,
  combine: (a: number, b: number) => number | null,
): readonly Sample[] =>
  left.flatMap(({ labels, value }) => {
    const other = typeof right === 'number' ? right : right.find((one) => isSame(one.labels, labels))?.value;
    const made = other === undefined ? null : combine(value, other);
    return made === null ? [] : [{ labels, value: made }];
  });
