import type { Payload, PayloadCodec, PayloadConverter, SerializationContext } from '@temporalio/common';
import { defaultPayloadConverter } from '@temporalio/common';
import { unreadablePayload } from '../../workflows/payloads/unreadablePayload';
import type { Unreadable } from '../../workflows/planning/unreadable';

/**
 * A user's codecs, with a last resort: a payload on which they, or the user's own payload
 * converter, throw becomes a marker. The SDK decodes all that came for a run together, and the
 * server repeats a workflow task that fails: one completion of a client without the codec, or one
 * that is garbled, would stop its run without end.
 *
 * What they throw on the way out is left as it is: that work is repeated.
 */
export class LastResortCodec implements PayloadCodec {
  /**
   * `converter`: the user's own; null: ours, which does the same within the workflow sandbox,
   * without reading twice.
   */
  constructor(
    private readonly codecs: readonly PayloadCodec[],
    private readonly converter: PayloadConverter | null,
  ) {}

  async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    let encoded = payloads;
    for (const codec of this.codecs) encoded = await codec.encode(encoded, context);
    return encoded;
  }

  async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    let decoded = payloads;
    try {
      for (const codec of this.codecs.toReversed()) decoded = await codec.decode(decoded, context);
    } catch (error) {
      const [only, ...others] = payloads;
      if (only === undefined) throw error;
      // One by one: the payloads beside it are not lost with it.
      if (others.length > 0) return (await Promise.all(payloads.map((one) => this.decode([one], context)))).flat();
      return [this.toPayload({ ...unreadablePayload(only, error), byCodec: true }, context)];
    }
    return decoded.map((payload) => this.readable(payload, context));
  }

  private readable(payload: Payload, context: SerializationContext | undefined): Payload {
    if (this.converter === null) return payload;
    try {
      this.converter.fromPayload(payload, context);
      return payload;
    } catch (error) {
      return this.toPayload(unreadablePayload(payload, error), context);
    }
  }

  /** Encodes the marker as the converter that reads it next would write it. */
  private toPayload(marker: Unreadable, context: SerializationContext | undefined): Payload {
    return (this.converter ?? defaultPayloadConverter).toPayload(marker, context);
  }
}
