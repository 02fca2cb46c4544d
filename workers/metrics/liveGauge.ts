import { Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

/**
 * Adds a gauge that shows counts of this process as they are when it is scraped: one series per
 * count, labelled with its name.
 */
export const addLiveGauge = <C extends { [K in keyof C]: number }>(
  registry: Registry,
  { name, help, label }: { name: string; help: string; label: string },
  read: () => Readonly<C>,
): void => {
  new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [registry],
    collect() {
      for (const [of, n] of Object.entries<number>(read())) this.set({ [label]: of }, n);
    },
  });
};
