import { ClaimCheck } from './claimCheck';
import type { Note } from './claimCheck';
import { CodecError, NO_CODEC, reasonOf } from './codecError';
import { ConstantText } from './constantText';
import { envelopesIn, hasTokens, isEnvelope, readEnvelope, replaceTokens, toEnvelope, toToken } from './envelope';
import { inParts } from './inParts';
import { CALL_MS, inTime } from './inTime';
import type { CodecContext, EncodedPayload, ObjectStoreOptions, PayloadCodec, ValueKind } from './types';

/** Values per call of a codec, and calls at once. */
const PART = 100;
const PARALLEL_CALLS = 4;

/** What a process is given to encode the values of its callers. */
export interface SealerOptions {
  payloadCodec?: PayloadCodec | undefined;
  objectStore?: ObjectStoreOptions | undefined;
}

/** Returns what encodes the values of callers; null: nothing does. */
export const sealerOf = ({ payloadCodec, objectStore }: SealerOptions): Sealer | null =>
  payloadCodec === undefined && objectStore === undefined ? null : new Sealer(payloadCodec ?? null, objectStore);

const JSON_PLAIN = { encoding: Buffer.from('json/plain') };
/** What may become an object. */
const CLAIMED: readonly ValueKind[] = ['payload', 'result'];
const NEVER = (): boolean => false;
const PROBE: Owned = { value: '"muster"', taskId: 'muster' };

/**
 * Encodes the values of callers on their way into the store and decodes them on their way out: many
 * at once, large ones by way of the object store.
 */
export class Sealer {
  private readonly claims: ClaimCheck | null;
  private readonly constants = new Map<string, ConstantText>();

  constructor(
    private readonly codec: PayloadCodec | null,
    objectStore: ObjectStoreOptions | undefined,
    /** How long the codec may take for a part, in ms. */
    private readonly callMs = CALL_MS,
  ) {
    this.claims = objectStore === undefined ? null : new ClaimCheck(objectStore);
  }

  /** Says whether texts are encoded too. */
  get sealsTexts(): boolean {
    return this.codec !== null;
  }

  /** Says whether objects of large values can be deleted. */
  get deletesObjects(): boolean {
    return this.claims?.deletes === true;
  }

  /** Deletes an object of a large value. Throws what the store throws. */
  async deleteObject(key: string): Promise<void> {
    await this.claims?.delete(key);
  }

  /**
   * Encodes JSON texts, each for its task (null: of no single one); `note` is told of objects
   * before they are stored. Throws `CodecError` if one of them cannot be.
   */
  async seal(kind: ValueKind, values: readonly string[], taskIds: TaskIds, note?: Note): Promise<string[]> {
    const { claims } = this;
    const sealed = await this.encoded(kind, values, taskIds);
    return claims === null || !CLAIMED.includes(kind) ? sealed : claims.putLarge(sealed, PARALLEL_CALLS, note);
  }

  /**
   * Returns the bytes of the JSON texts once they are encoded; 0: it becomes an object, and is a
   * short reference. Stores nothing. Throws as `seal` does.
   */
  async sealedBytes(kind: ValueKind, values: readonly string[], taskIds: TaskIds): Promise<number[]> {
    const sealed = await this.encoded(kind, values, taskIds);
    const isObject = (json: string): boolean => CLAIMED.includes(kind) && this.claims?.isLarge(json) === true;
    return sealed.map((json) => (isObject(json) ? 0 : Buffer.byteLength(json)));
  }

  private async encoded(kind: ValueKind, values: readonly string[], taskIds: TaskIds): Promise<string[]> {
    const { codec } = this;
    if (codec === null) return [...values];
    return inParts(ownedBy(taskIds, values), PART, PARALLEL_CALLS, encodeBy(codec, kind, this.callMs));
  }

  /**
   * Decodes JSON texts, each of its task and by itself: one that cannot be decoded is answered by
   * the error. Plain ones, from before there was a codec, are returned as they are.
   */
  async open(kind: ValueKind, values: readonly string[], taskIds: TaskIds): Promise<(string | CodecError)[]> {
    const owned = ownedBy(taskIds, values);
    const places = values.flatMap((value, place) => (isEnvelope(value) ? [place] : []));
    const opened: (string | CodecError)[] = [...values];
    const opening: Opening = { kind, away: null };
    const read = await inParts(places, PART, PARALLEL_CALLS, (part) =>
      this.openPart(
        opening,
        part.map((place) => owned[place]!),
      ),
    );
    places.forEach((place, i) => (opened[place] = read[i]!));
    return opened;
  }

  /** Encodes a text, as a token. Without a codec it is returned as it is. */
  async sealText(text: string): Promise<string> {
    return (await this.sealTexts([text]))[0]!;
  }

  /**
   * Encodes a text of the program, for an hour or two, without waiting for the codec. Null: it has
   * not answered yet. Throws what it failed with, until it works.
   */
  sealConstant(text: string): string | null {
    if (this.codec === null) return text;
    let constant = this.constants.get(text);
    if (constant === undefined) this.constants.set(text, (constant = new ConstantText(() => this.sealText(text))));
    return constant.get();
  }

  async sealTexts(texts: readonly string[]): Promise<string[]> {
    const { codec } = this;
    if (codec === null || texts.length === 0) return [...texts];
    const json = texts.map((text) => ({ value: JSON.stringify(text), taskId: null }));
    return (await inParts(json, PART, PARALLEL_CALLS, encodeBy(codec, 'error', this.callMs))).map(toToken);
  }

  /**
   * Decodes what is encoded in texts. A part that cannot be decoded says so in its place, unless
   * `isThrown` holds for its `CodecError`, which is thrown then.
   */
  async openTexts(texts: readonly string[], isThrown: (error: CodecError) => boolean = NEVER): Promise<string[]> {
    const envelopes = [...new Set(texts.flatMap((text) => (hasTokens(text) ? envelopesIn(text) : [])))];
    if (envelopes.length === 0) return [...texts];
    const opened = await this.open('error', envelopes, null);
    const thrown = opened.find((one) => typeof one !== 'string' && isThrown(one));
    if (thrown !== undefined) throw thrown;
    const read = new Map(envelopes.map((envelope, i) => [envelope, textOf(opened[i]!)]));
    return texts.map((text) => replaceTokens(text, (envelope) => read.get(envelope)!));
  }

  private async openPart(opening: Opening, part: readonly Owned[]): Promise<(string | CodecError)[]> {
    const whole = await inParts(part, 1, PARALLEL_CALLS, async ([one]) => [await this.fetched(one!.value)]);
    const good = whole.flatMap((one, place) => (typeof one === 'string' && isEnvelope(one) ? [place] : []));
    if (good.length === 0) return whole;
    const decoded = await this.decodeAll(
      opening,
      good.map((place) => ({ value: whole[place] as string, taskId: part[place]!.taskId })),
    );
    good.forEach((place, i) => (whole[place] = decoded[i]!));
    return whole;
  }

  /** Returns the envelope itself, fetched if it refers to an object. */
  private async fetched(envelope: string): Promise<string | CodecError> {
    try {
      const read = readEnvelope(envelope);
      if (!('object' in read)) return envelope;
      if (this.claims === null)
        return new CodecError('it is kept in an object store, and none is configured here', false);
      return await this.claims.get(read.object);
    } catch (error) {
      return error instanceof CodecError ? error : new CodecError(`unreadable envelope: ${reasonOf(error)}`, false);
    }
  }

  private async decodeAll(opening: Opening, envelopes: readonly Owned[]): Promise<(string | CodecError)[]> {
    const { codec } = this;
    const allFail = (why: string, away: boolean): CodecError[] => envelopes.map(() => new CodecError(why, away));
    if (codec === null) return allFail(NO_CODEC, false);
    if (opening.away !== null) return allFail(opening.away, true);
    try {
      return await decodeBy(codec, opening.kind, envelopes, this.callMs);
    } catch (error) {
      // Asked before they are tried one by one: a codec that hangs would take its time limit for
      // each.
      if (!(await works(codec, this.callMs))) {
        opening.away = `the codec does not work: ${reasonOf(error)}`;
        return allFail(opening.away, true);
      }
      if (envelopes.length === 1) return allFail(`the codec refuses it: ${reasonOf(error)}`, false);
      return (await inParts(envelopes, 1, PARALLEL_CALLS, ([one]) => this.decodeAll(opening, [one!]))).flat();
    }
  }
}

const textOf = (opened: string | CodecError): string =>
  typeof opened === 'string' ? String(JSON.parse(opened)) : `(cannot be decoded: ${opened.message})`;

/** Ids of the tasks of a list of values; null: they are of no single task. */
type TaskIds = readonly (string | null)[] | null;

/**
 * One reading of a list; `away`: why its other parts are not tried, since the codec does not work.
 */
interface Opening {
  kind: ValueKind;
  away: string | null;
}

/** A stored value and the id of its task. */
interface Owned {
  value: string;
  taskId: string | null;
}

const ownedBy = (taskIds: TaskIds, values: readonly string[]): Owned[] =>
  values.map((value, i) => ({ value, taskId: taskIds?.[i] ?? null }));

const contextOf = (kind: ValueKind, owned: readonly Owned[]): CodecContext => ({
  type: 'muster',
  kind,
  taskIds: owned.map(({ taskId }) => taskId),
});

const encodeBy =
  (codec: PayloadCodec, kind: ValueKind, ms: number) =>
  async (owned: readonly Owned[]): Promise<string[]> => {
    const plain = owned.map(({ value }): EncodedPayload => ({ metadata: JSON_PLAIN, data: Buffer.from(value) }));
    try {
      const encoded = await inTime(() => codec.encode(plain, contextOf(kind, owned)), ms);
      checkLength(encoded, owned.length);
      return encoded.map(toEnvelope);
    } catch (error) {
      throw new CodecError(`the codec could not encode it: ${reasonOf(error)}`, true, { cause: error });
    }
  };

const decodeBy = async (
  codec: PayloadCodec,
  kind: ValueKind,
  owned: readonly Owned[],
  ms: number,
): Promise<string[]> => {
  const encoded = owned.map(({ value }) => (readEnvelope(value) as { payload: EncodedPayload }).payload);
  const decoded = await inTime(() => codec.decode(encoded, contextOf(kind, owned)), ms);
  checkLength(decoded, owned.length);
  return decoded.map(({ data }) => {
    const json = Buffer.from(data ?? []).toString();
    JSON.parse(json); // or its readers would fail
    return json;
  });
};

/** Says whether a codec can decode what it has encoded just now. */
const works = async (codec: PayloadCodec, ms: number): Promise<boolean> => {
  try {
    const [value] = await encodeBy(codec, 'payload', ms)([PROBE]);
    const [read] = await decodeBy(codec, 'payload', [{ ...PROBE, value: value! }], ms);
    return read === PROBE.value;
  } catch {
    return false;
  }
};

const checkLength = (got: unknown, expected: number): void => {
  if (!Array.isArray(got) || got.length !== expected)
    throw new Error(`expected ${expected} payloads, got ${Array.isArray(got) ? got.length : typeof got}`);
};
