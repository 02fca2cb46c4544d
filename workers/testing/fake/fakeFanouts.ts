import { ApplicationFailure, Context } from '@temporalio/activity';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { OpenInput } from '../../../activities/fanouts/workflowFanouts';
import type { FanoutEnded } from '../../../workflows/definitions';
import { fanoutEndedSignal } from '../../../workflows/definitions';
import { parseItemId } from '../../../workflows/planning/fanouts/itemId';
import type { SegmentRange } from '../../../workflows/planning/fanouts/segments';
import { DEFAULT_SEGMENT_SIZE, itemIds } from '../../../workflows/planning/fanouts/segments';
import type { TestEnvironment } from './environment';

interface Fanout {
  id: string;
  userKey: string | null;
  segmentSize: number;
  workflowId: string;
  segments: number;
  items: number;
  /** By the add's key: a repeated activity adds nothing. */
  adds: Map<string, SegmentRange>;
  acked: Set<string>;
  sealed: boolean;
  ended: FanoutEnded | null;
}

/**
 * Fan-outs in memory, for workflows that open them. They do not expire. What counts as complete is
 * a rule that the product has in SQL: here, sealed, and as many different items acked as were
 * added.
 */
export class FakeFanouts {
  private readonly fanouts = new Map<string, Fanout>();

  /** @internal */
  constructor(private readonly env: TestEnvironment) {}

  /** Acknowledges items by their ids; an item counts once. Ids that no fan-out has are refused. */
  async ack(ids: Iterable<string>): Promise<void> {
    const touched = new Set<Fanout>();
    for (const id of ids) {
      const place = parseItemId(id);
      const fanout = place === null ? undefined : this.fanouts.get(place.fanout);
      if (fanout === undefined || place!.segment >= fanout.segments || place!.index >= fanout.segmentSize)
        throw new Error(`Cannot ack: expected the id of an item that was added, got ${JSON.stringify(id)}.`);
      fanout.acked.add(id);
      touched.add(fanout);
    }
    for (const fanout of touched) await this.complete(fanout);
  }

  /** Returns the ids of all items of all fan-outs, in order; null: none was sealed yet. */
  ids(): string[] | null {
    const sealed = [...this.fanouts.values()].filter((fanout) => fanout.sealed);
    return sealed.length === 0 ? null : sealed.flatMap(({ id, adds }) => [...itemIds(id, adds.values())]);
  }

  /** Returns the activities of the helper. @internal */
  activities() {
    return {
      openFanout: async ({ id, segmentSize = DEFAULT_SEGMENT_SIZE, ...input }: OpenInput): Promise<void> => {
        const userKey = input.userKey ?? null;
        const { workflowId } = Context.current().info.workflowExecution!;
        const empty = { segments: 0, items: 0, sealed: false, ended: null };
        const sets = { adds: new Map<string, SegmentRange>(), acked: new Set<string>() };
        if (!this.fanouts.has(id)) this.fanouts.set(id, { id, userKey, segmentSize, workflowId, ...empty, ...sets });
      },
      addFanoutItems: async (input: { id: string; items: number; key: string }): Promise<SegmentRange[]> =>
        this.add(input),
      sealFanout: async ({ id }: { id: string }): Promise<{ state: 'sealed' | 'complete' }> => {
        const fanout = this.of(id);
        fanout.sealed = true;
        await this.complete(fanout);
        return { state: fanout.ended === null ? 'sealed' : 'complete' };
      },
      readFanoutEnd: async ({ id }: { id: string }): Promise<FanoutEnded | null> => this.of(id).ended,
    };
  }

  private add({ id, items, key }: { id: string; items: number; key: string }): SegmentRange[] {
    const fanout = this.of(id);
    const before = fanout.adds.get(key);
    if (before !== undefined) return [before];
    if (fanout.sealed)
      throw refused('MusterFanoutSealed', `fan-out ${id} is sealed: nothing can be added after the seal`);
    const range = { first: fanout.segments, items, segmentSize: fanout.segmentSize };
    fanout.segments += Math.ceil(items / fanout.segmentSize);
    fanout.items += items;
    fanout.adds.set(key, range);
    return [range];
  }

  private of(id: string): Fanout {
    const fanout = this.fanouts.get(id);
    if (fanout === undefined) throw refused('MusterUnknownFanout', `fan-out ${id} not found: it was never opened`);
    return fanout;
  }

  private async complete(fanout: Fanout): Promise<void> {
    if (!fanout.sealed || fanout.ended !== null || fanout.acked.size < fanout.items) return;
    const endedAt = new Date(await this.env.currentTimeMs()).toISOString();
    const { id, userKey, items, workflowId } = fanout;
    fanout.ended = { type: 'fanout.completed', fanout: id, userKey, items, endedAt };
    try {
      await this.env.client.workflow.getHandle(workflowId).signal(fanoutEndedSignal, fanout.ended);
    } catch (error) {
      if (!(error instanceof WorkflowNotFoundError)) throw error;
    }
  }
}

const refused = (type: string, message: string): ApplicationFailure =>
  ApplicationFailure.create({ type, message, nonRetryable: true });
