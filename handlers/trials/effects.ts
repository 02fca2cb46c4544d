import type { Case, Seen } from './case';

/**
 * Judges what holds for every case: no task is lost or left over, what succeeded was applied
 * (once, unless the handler chose to send unknown outcomes again), what failed or is held was not,
 * and what can be found out is not left unknown.
 */
export function effectsProblem(seen: Seen, { mayEndUnknown }: Case): string | undefined {
  for (const [id, end] of seen.ends) {
    const problem = taskProblem(end, seen.effects.get(id) ?? 0, seen, mayEndUnknown === true);
    if (problem !== undefined) return `${problem} (${id})`;
  }
  return undefined;
}

function taskProblem(end: string, effects: number, { handler }: Seen, mayEndUnknown: boolean): string | undefined {
  const isChosen = handler.idempotency === 'none' && handler.onUnknown === 'resend';
  switch (end) {
    case 'succeeded':
      if (effects === 0) return 'expected an effect of a task that succeeded, got none: it is lost';
      return effects > 1 && !isChosen ? `expected one effect, got ${effects}` : undefined;
    case 'unknown':
      if (effects > 1) return `expected at most one effect of a parked task, got ${effects}`;
      return mayEndUnknown ? undefined : 'expected an end that is known, got unknown';
    case 'failed':
    case 'held':
      return effects === 0 ? undefined : `expected no effect of a task that is ${end}, got ${effects}`;
    default:
      return `expected the task to end, got ${end}`;
  }
}
