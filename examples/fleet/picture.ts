import type { Member } from './crew';
import type { Lease } from './watch';

export interface Shown {
  seconds: string;
  members: readonly Pick<Member, 'label' | 'id' | 'state'>[];
  leases: readonly Lease[];
  moves: number;
  submitted: number;
  /** What happened last. */
  news: readonly string[];
}

/**
 * Who holds what, one line per node: each partition its number, in brackets while it is to be given
 * up.
 */
export const picture = ({ seconds, members, leases, moves, submitted, news }: Shown): string => {
  const rows = members
    .filter(({ id, state }) => state !== 'gone' && (state !== 'killed' || leases.some(({ holder }) => holder === id)))
    .map(({ label, id, state }) =>
      line(
        `${label} ${state}`,
        leases.filter(({ holder }) => holder === id),
      ),
    );
  const free = line(
    'nobody',
    leases.filter(({ holder }) => holder === null),
  );
  const head = `${seconds} s   ${moves} moves   ${submitted} tasks submitted`;
  return [head, '', ...rows, free, '', ...news].join('\n');
};

const line = (who: string, leases: readonly Lease[]): string =>
  `${who.padEnd(14)} ${String(leases.length).padStart(4)}  ${leases.map(numberOf).join(' ')}`;
const numberOf = ({ partition, revoked }: Lease): string => {
  const no = partition.slice(partition.lastIndexOf('/') + 1);
  return revoked ? `(${no})` : no;
};

/** The same in one line, for a log. */
export const oneLine = ({ seconds, members, leases, moves, submitted }: Shown): string => {
  const held = members
    .filter(({ state }) => state !== 'gone')
    .map(({ label, id, state }) => [label, state, leases.filter(({ holder }) => holder === id).length] as const)
    .filter(([, state, n]) => state !== 'killed' || n > 0)
    .map(([label, state, n]) => `${label}${state === 'up' ? '' : ` ${state}`} ${n}`);
  const free = leases.filter(({ holder }) => holder === null).length;
  return `${seconds} s: ${held.join(', ')}, nobody ${free}; ${moves} moves, ${submitted} tasks`;
};

/** Draws on a terminal over what it drew before; elsewhere says one line every few seconds. */
export class Screen {
  private lines = 0;
  private saidAt = -Infinity;
  private readonly isTty = process.stderr.isTTY;

  show(shown: Shown): void {
    if (!this.isTty) {
      if (performance.now() - this.saidAt < 3_000) return;
      this.saidAt = performance.now();
      process.stderr.write(`${oneLine(shown)}\n`);
      return;
    }
    const text = picture(shown)
      .split('\n')
      .map((one) => one.slice(0, process.stderr.columns ?? 120));
    const up = this.lines === 0 ? '' : `\x1b[${this.lines}A\x1b[0J`;
    process.stderr.write(`${up}${text.join('\n')}\n`);
    this.lines = text.length;
  }
}
