import { load } from 'js-yaml';
import { read } from '../project/project';
import type { Sample, Scrape } from './promql';
import { evaluate } from './promql';

/** The alert rules of deploy/, and the tests that stand beside them in promtool's format. */

export interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}
export interface RuleTest {
  name: string;
  input_series: { series: string; values: string }[];
  promql_expr_test: { expr: string; eval_time: string; exp_samples: { labels: string; value: number }[] }[];
}

const folder = 'deploy/prometheus';
const { groups } = load(read(`${folder}/muster.rules.yml`)) as { groups: { rules: Rule[] }[] };
export const RULES: readonly Rule[] = groups.flatMap(({ rules }) => rules);
export const RULE_TESTS = (load(read(`${folder}/muster.tests.yml`)) as { tests: RuleTest[] }).tests;

const UNITS = new Map([
  ['m', 1],
  ['h', 60],
]);
/** Returns the minutes of `15m` or `1h`. */
export const minutesOf = (text: string): number => {
  const [, n, unit] = /^(\d+)([mh])$/.exec(text) ?? [];
  if (n === undefined) throw new Error(`${text}: expected minutes or hours, as 15m`);
  return Number(n) * UNITS.get(unit!)!;
};

export const labelsOf = (series: string): Record<string, string> =>
  Object.fromEntries([...series.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name!, value!]));

/** Returns the value of each minute: `1x2 5+2x3` is 1 1 1 5 7 9 11, as in promtool. */
const valuesOf = (text: string): number[] =>
  text.split(' ').flatMap((part) => {
    const [, first, step = '0', times] = /^(\d+)(?:\+(\d+))?x(\d+)$/.exec(part) ?? [];
    if (first === undefined) throw new Error(`${part}: expected a first value, a step and how often, as 5+2x3`);
    return Array.from({ length: Number(times) + 1 }, (_, i) => Number(first) + i * Number(step));
  });

const scrapeAt = (test: RuleTest, minute: number): Scrape => {
  const found = new Map<string, Sample[]>();
  for (const { series, values } of test.input_series) {
    const value = valuesOf(values)[minute];
    if (value === undefined) continue;
    const name = series.replace(/\{.*/, '');
    found.set(name, [...(found.get(name) ?? []), { labels: labelsOf(series), value }]);
  }
  return found;
};

/**
 * Returns `ALERTS` as Prometheus has it at a minute of a test: with the rule's labels, pending or
 * firing.
 */
export const alertsAt = ({ alert, expr, for: lasts = '0m', labels }: Rule, test: RuleTest, minute: number) => {
  const [, range = '1m'] = /\[(\w+)\]/.exec(expr) ?? [];
  const since = new Map<string, number>();
  for (let at = 0; at <= minute; at++) {
    const found = evaluate(expr, scrapeAt(test, Math.max(0, at - minutesOf(range))), scrapeAt(test, at));
    const now = new Set(found.map((one) => JSON.stringify(one.labels)));
    for (const key of since.keys()) if (!now.has(key)) since.delete(key);
    for (const key of now) since.set(key, since.get(key) ?? at);
  }
  return [...since].map(([key, begun]) => ({
    alertname: alert,
    alertstate: minute - begun >= minutesOf(lasts) ? 'firing' : 'pending',
    severity: labels.severity,
    ...(JSON.parse(key) as Record<string, string>),
  }));
};
