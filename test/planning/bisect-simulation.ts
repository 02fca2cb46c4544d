import { countsAttempt, decideSettlement } from '../../workflows/planning/calls/settlement';
import type { Settlement, SettlementContext } from '../../workflows/planning/calls/plans';
import { buildContext } from './builders';

interface Part {
  members: number[];
  depth: number;
  state: 'open' | 'awaiting' | 'over';
  sibling: Part | null;
}

export interface BisectEnd {
  calls: number;
  halted: boolean;
  states: ('created' | 'succeeded' | 'failed')[];
  attempts: number[];
}

/**
 * Applies settlements as the activities do: a call refuses its whole batch if a member is poison.
 * `pick` chooses which open batch is called next. A half that awaits its sibling is refused to that
 * one, and is decided again when it is known.
 */
export function bisect(m: number, isPoison: (task: number) => boolean, pick: () => number): BisectEnd {
  const root: Part = { members: Array.from({ length: m }, (_, at) => at), depth: 0, state: 'open', sibling: null };
  const parts = [root];
  const end: BisectEnd = {
    calls: 0,
    halted: false,
    states: root.members.map(() => 'created'),
    attempts: root.members.map(() => 0),
  };

  const decide = (part: Part): Settlement => {
    const refused = part.members.some(isPoison);
    const context = buildContext({
      attempts: part.members.map((task) => end.attempts[task]!),
      sibling: siblingOf(part),
    });
    return decideSettlement(refused ? { kind: 'rejected', error: '400' } : { kind: 'results', deviants: [] }, context);
  };
  const apply = (part: Part): void => {
    const settlement = decide(part);
    part.state = settlement.kind === 'await-sibling' ? 'awaiting' : 'over';
    if (countsAttempt(settlement.kind)) for (const task of part.members) end.attempts[task]! += 1;
    if (settlement.kind === 'finish') for (const task of part.members) end.states[task] = settlement.state;
    if (settlement.kind === 'halt') end.halted = true;
    if (settlement.kind === 'split') parts.push(...halvesOf(part, settlement.at));
    if (part.state === 'over' && part.sibling?.state === 'awaiting' && !end.halted) apply(part.sibling);
  };

  for (let open = parts; open.length > 0 && !end.halted; open = parts.filter((part) => part.state === 'open')) {
    end.calls += 1;
    apply(open[pick() % open.length]!);
  }
  return end;
}

function siblingOf({ depth, sibling }: Part): SettlementContext['sibling'] {
  if (depth !== 1) return null;
  return sibling!.state === 'open' ? 'pending' : sibling!.state === 'awaiting' ? 'refused' : 'other';
}

function halvesOf({ members, depth }: Part, at: number): Part[] {
  const one: Part = { members: members.slice(0, at), depth: depth + 1, state: 'open', sibling: null };
  const two: Part = { members: members.slice(at), depth: depth + 1, state: 'open', sibling: one };
  one.sibling = two;
  return [one, two];
}
