import { MOST_VALUES } from '../../workflows/planning/jsonText';
import { memoryOf } from '../api/bodies/memory';
import { Room } from '../api/bodies/room';
import { mayTake } from '../api/limits';

/**
 * Bodies of the largest size on their way at once, or as many bytes of smaller ones; of them, what
 * one handler may have, and one batch.
 */
const [BODIES_AT_ONCE, OF_HANDLER, OF_BATCH] = [8, 4, 2] as const;
/** Completions in memory at once, parsed: so many of the largest that is taken. */
const PARSED_AT_ONCE = 1.5;

/** Thrown where there is no room for a body now. */
export class NoRoom extends Error {}

/** A body's part of the memory. */
export interface Part {
  /** Takes room for bytes that are kept of what came. @throws NoRoom */
  arrive(bytes: number): void;
  /** Takes room for the parsed body in place of its bytes; waits for it. @throws NoRoom */
  parse(memory: number): Promise<void>;
  /** Gives all of it back. */
  leave(): void;
}

/**
 * The memory of a worker for completions. What is on its way takes room as it arrives, not as it is
 * announced: to announce much and send nothing takes nothing. Of that, a handler has no more than
 * is left free, and so has a batch of what its handler has: neither the downstream of one
 * handler, nor who has the URL of one batch, keeps the others out.
 */
export class CallbackMemory {
  private arriving = 0;
  private readonly ofHandlers = new Map<string, number>();
  private readonly ofBatches = new Map<number, number>();
  private readonly parsed: Room;

  constructor(private readonly maxBytes: number) {
    const largest = memoryOf(maxBytes, { depth: 0, values: MOST_VALUES });
    this.parsed = new Room(PARSED_AT_ONCE * largest, 'completions', () => largest);
  }

  part(handler: string, batch: number): Part {
    let arrived = 0;
    let leaveParsed = (): void => undefined;
    const add = (bytes: number): void => {
      arrived += bytes;
      this.arriving += bytes;
      addTo(this.ofHandlers, handler, bytes);
      addTo(this.ofBatches, batch, bytes);
    };
    return {
      arrive: (bytes) => {
        if (!this.mayArrive(bytes, handler, batch))
          throw new NoRoom('Too many callbacks of this batch, or of its handler, at once.');
        add(bytes);
      },
      parse: async (memory) => {
        leaveParsed = await this.parsed.enter(memory, batch).catch(() => {
          throw new NoRoom('Too many large callbacks are in memory at once.');
        });
        add(-arrived);
      },
      leave: () => {
        add(-arrived);
        leaveParsed();
      },
    };
  }

  private mayArrive(bytes: number, handler: string, batch: number): boolean {
    const [all, mostOfHandler, mostOfBatch] = [BODIES_AT_ONCE, OF_HANDLER, OF_BATCH].map((n) => n * this.maxBytes);
    const [ofHandler, ofBatch] = [this.ofHandlers.get(handler) ?? 0, this.ofBatches.get(batch) ?? 0];
    return (
      mayTake(bytes, { own: ofHandler, taken: this.arriving, most: mostOfHandler!, all: all! }) &&
      mayTake(bytes, { own: ofBatch, taken: ofHandler, most: mostOfBatch!, all: mostOfHandler! })
    );
  }
}

const addTo = <K>(sums: Map<K, number>, key: K, bytes: number): void => {
  const sum = (sums.get(key) ?? 0) + bytes;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
};
