import Table from 'cli-table3';

/**
 * What a run of the demo came to: Muster's own figures and, independent of them, the downstream's.
 */
export interface DemoFigures {
  /** Tasks that `submit` accepted. */
  accepted: number;
  /** Tasks in each state (H9). */
  states: Readonly<Record<string, number>>;
  seconds: number;
  maxItems: number;
  /**
   * From `expectedOutcome`: the fewest calls possible, and the tasks that the downstream refuses.
   */
  expected: { calls: number; failed: number };
  /** The downstream's `GET /stats`. */
  downstream: DownstreamStats;
}

export interface DownstreamStats {
  /** Every call, those answered 429 and the repeated ones too. */
  calls: number;
  items: number;
  refused: number;
  replays: number;
  rejected: number;
  rows: number;
  duplicateEffects: number;
}

/** What is wrong with a finished run, in words; empty if nothing is. */
export function demoProblems(figures: DemoFigures): string[] {
  const { accepted, states, expected, downstream } = figures;
  const inStates = Object.values(states).reduce((sum, count) => sum + count, 0);
  const [succeeded, failed] = [states['succeeded'] ?? 0, states['failed'] ?? 0];
  const checks: [isGood: boolean, problem: string][] = [
    [inStates === accepted, `accounting: ${accepted} tasks accepted, ${inStates} in all states together`],
    [succeeded + failed === accepted, `${accepted - succeeded - failed} tasks have neither succeeded nor failed`],
    [failed === expected.failed, `failed: expected the ${expected.failed} that the downstream refuses, got ${failed}`],
    [downstream.rows === succeeded, `the downstream has ${downstream.rows} rows, ${succeeded} tasks succeeded`],
    [downstream.duplicateEffects === 0, `the downstream saw ${downstream.duplicateEffects} effects twice`],
  ];
  return checks.filter(([isGood]) => !isGood).map(([, problem]) => problem);
}

/** The table at the end of the demo. */
export function demoReport(figures: DemoFigures): string {
  const { accepted, states, seconds, maxItems, expected, downstream } = figures;
  const carried = downstream.calls - downstream.refused - downstream.replays;
  const number = (value: number) => value.toLocaleString('en-US');
  const share = (part: number, whole: number) => (whole === 0 ? '-' : `${((100 * part) / whole).toFixed(1)} %`);
  const table = new Table({ style: { head: [], border: [] }, colAligns: ['left', 'right', 'left'] });
  const present = Object.entries(states).filter(([, count]) => count > 0);
  table.push(
    [
      'tasks accepted',
      number(accepted),
      `${number(Math.round(accepted / seconds))} a second, ${seconds.toFixed(1)} s in all`,
    ],
    [
      'calls that carried them',
      number(carried),
      `one by one: ${number(accepted)}; the fewest possible: ${number(expected.calls)}`,
    ],
    [
      'tasks a call',
      number(Math.round(accepted / Math.max(1, carried))),
      `${share(accepted, carried * maxItems)} of the ${maxItems} allowed`,
    ],
    ['calls answered 429', number(downstream.refused), 'made again later, no attempt counted'],
    [
      'calls repeated with their key',
      number(downstream.replays),
      `effects that happened twice: ${downstream.duplicateEffects}`,
    ],
    ...present.map(([state, count]) => [state, number(count), share(count, accepted)]),
    ['accounting', number(accepted), `= ${present.map(([state, count]) => `${number(count)} ${state}`).join(' + ')}`],
    [
      'rows in the downstream',
      number(downstream.rows),
      `its own count; it refused ${number(downstream.rejected)} records`,
    ],
  );
  return table.toString();
}
