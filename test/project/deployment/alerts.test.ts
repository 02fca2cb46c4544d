import { Registry } from 'prom-client';
import { OutcomeMeters } from '../../../activities/outcomes/meters';
import { evaluate, scrapeOf } from '../../incidents/promql';
import type { Rule } from '../../incidents/ruleTimeline';
import { alertsAt, labelsOf, minutesOf, RULES, RULE_TESTS } from '../../incidents/ruleTimeline';
import { read } from '../project';

/** deploy/prometheus: each rule asks for metrics and labels, and names commands, that there are. */

const rules = RULES.map((rule): [string, Rule] => [rule.alert, rule]);

/** Of the generated reference, which a test compares with the code. */
const metrics = new Map(
  [...read('docs/reference/metrics.md').matchAll(/^\| `(muster_\w+)` +\| (\w+) +\| ([^|]*)\|/gm)].map(
    ([, name, type, labels]) => [
      name!,
      { type: type!, labels: [...labels!.matchAll(/`(\w+)`/g)].map(([, one]) => one!) },
    ],
  ),
);
const metricOf = (name: string) => metrics.get(name) ?? metrics.get(name.replace(/_(bucket|sum|count)$/, ''));
/** Of a process, not of the store: whoever reads the alert must know of which. */
const [, listed] = /These are each process's:([\s\S]*?)\(look at each process\)/.exec(
  read('docs/operations/metrics.md'),
)!;
const ofProcess = [...listed!.matchAll(/`(muster_\w+)`/g)].map(([, name]) => name!);
const cli = read('docs/reference/cli.md');

test.each(rules)('%s: asks for what there is, in the way of its kind', (_name, { expr }) => {
  const names = [...expr.matchAll(/muster_\w+/g)].map(([name]) => name);
  expect(names.length).toBeGreaterThan(0);
  const labels = [...expr.matchAll(/\bby \(([^)]*)\)|(\w+)=~?"/g)].flatMap(([, by, label]) =>
    by === undefined ? [label!] : by.split(',').map((one) => one.trim()),
  );
  for (const name of names) {
    const metric = metricOf(name);
    expect([name, metric]).toEqual([name, expect.anything()]);
    // Counters only grow; what is the store's is the same from every process.
    const isRated = new RegExp(`(rate|increase)\\(${name}(\\{[^}]*\\})?\\[`).test(expr);
    expect([name, isRated]).toEqual([name, metric!.type !== 'gauge']);
    if (metric!.type === 'gauge')
      expect(expr).toMatch(new RegExp(`(max|min)( by \\([^)]*\\))? ?\\(${name}(\\{[^}]*\\})?\\)`));
  }
  const isOfProcess = names.some((name) => metricOf(name)!.type === 'gauge' && ofProcess.includes(name));
  if (isOfProcess) expect(labels).toContain('instance');
  const known = new Set(['le', 'instance', ...names.flatMap((name) => metricOf(name)!.labels)]);
  expect(labels.filter((label) => !known.has(label))).toEqual([]);
  for (const [open, close] of ['()', '{}', '[]']) expect(expr.split(open!).length).toBe(expr.split(close!).length);
});

test('MusterSlowCalls compares with a bound of the histogram: in between, a quantile is a guess', async () => {
  const { expr } = RULES.find((rule) => rule.alert === 'MusterSlowCalls')!;
  const registry = new Registry();
  const meters = new OutcomeMeters();
  meters.register(registry);
  meters.called('orders', 'results', 1, 1);
  expect(await registry.metrics()).toContain(`le="${/> (\d+)$/.exec(expr)![1]}"`);
});

test.each(rules)('%s: says whom it concerns and what to do, by commands that there are', (_name, rule) => {
  expect(['page', 'ticket']).toContain(rule.labels.severity);
  const commands = [...rule.annotations.action.matchAll(/\bmuster ([a-z]+(?: (?:skip|fix)\b)?)/g)];
  for (const [, command] of commands) expect(cli).toMatch(new RegExp(`\n###? muster ${command}\n`));
  const options = [...rule.annotations.action.matchAll(/--[a-z-]+/g)].map(([option]) => option);
  for (const option of options) expect(cli).toContain(`${option} `);
  const labels = [...`${rule.annotations.summary}${rule.annotations.action}`.matchAll(/\$labels\.(\w+)/g)];
  for (const [, label] of labels) expect(rule.expr).toMatch(new RegExp(`by \\([^)]*\\b${label}\\b`));
});

test.each(rules)('%s: the page of incidents says what it is and what ends it', (name) => {
  expect(read('docs/operations/incidents.md')).toContain(`| \`${name}\` `);
});

test.each(['queued', 'delayed', 'held'])('a backlog is full of what is %s, as submits count it', (where) => {
  const { expr } = rules.find(([name]) => name === 'MusterBacklogFull')![1];
  const fires = (waiting: number): number => {
    const counts = ['queued', 'delayed', 'held'].map(
      (state) => `muster_${state}_tasks{handler="orders"} ${state === where ? waiting : 0}`,
    );
    const now = scrapeOf('muster_queue_limit{handler="orders"} 100', ...counts);
    return evaluate(expr, now, now).length;
  };
  expect([fires(94), fires(95)]).toEqual([0, 1]);
});

test.each(rules)('%s: is silent, pending and firing when its test says so', (name, rule) => {
  const test = RULE_TESTS.find((one) => one.name === name);
  if (test === undefined) throw new Error(`deploy/prometheus/muster.tests.yml has no test of ${name}`);
  const states = new Set<string>();
  for (const { expr, eval_time: at, exp_samples: wanted } of test.promql_expr_test) {
    expect(expr).toBe(`ALERTS{alertname="${name}"}`);
    expect([at, alertsAt(rule, test, minutesOf(at))]).toEqual([at, wanted.map(({ labels }) => labelsOf(labels))]);
    for (const state of wanted.length === 0 ? ['silent'] : wanted.map(({ labels }) => labelsOf(labels)['alertstate']!))
      states.add(state);
  }
  expect([...states].sort()).toEqual(['firing', ...(rule.for === undefined ? [] : ['pending']), 'silent']);
});

test('a test is of a rule that there is', () => {
  expect(RULE_TESTS.map(({ name }) => name)).toEqual(rules.map(([name]) => name));
});

test('each kind of metric that a rule needs is told apart', () => {
  expect(rules.length).toBeGreaterThan(10);
  expect(metricOf('muster_task_ends_total')).toMatchObject({ type: 'counter', labels: ['handler', 'state'] });
  expect(metricOf('muster_call_seconds_bucket')).toMatchObject({ type: 'histogram' });
  expect(metricOf('muster_healthy')).toMatchObject({ type: 'gauge', labels: ['part'] });
  expect(metricOf('muster_no_such')).toBeUndefined();
});
