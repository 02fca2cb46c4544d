import type { Party } from './fate';

interface Hold {
  party: Party;
  when: 'before' | 'after';
  statement: string;
  reach: () => void;
  opened: Promise<void>;
}

/** Statements at which a party stops until it is let go on. */
export class Holds {
  private readonly held: Hold[] = [];

  /** The next time this party comes to the statement it stops there: `reached`, then `open`. */
  add(party: Party, when: 'before' | 'after', statement: string): { reached: Promise<void>; open: () => void } {
    let reach: () => void = () => undefined;
    let open: () => void = () => undefined;
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const opened = new Promise<void>((resolve) => (open = resolve));
    this.held.push({ party, when, statement, reach, opened });
    return { reached, open };
  }

  async stopAt(party: Party, when: Hold['when'], statement: string): Promise<void> {
    const at = this.held.findIndex((h) => h.party === party && h.when === when && h.statement === statement);
    if (at < 0) return;
    const [hold] = this.held.splice(at, 1);
    hold!.reach();
    await hold!.opened;
  }

  /** Nobody comes to a statement any more. */
  end(): void {
    for (const hold of this.held.splice(0)) hold.reach();
  }
}
