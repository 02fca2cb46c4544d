import type { EncodedPayload } from './types';

/**
 * The form of encoded values in the store. JSON columns hold `{"$codec":{...}}`, which no caller
 * can submit: a plain value of that form is refused, and with a codec it is itself encoded. Texts
 * hold `[encoded:...]`, any number of times and with other words around it.
 */

const MARK = '{"$codec":';

/** Why a plain value of that form is refused. */
export const RESERVED_FORM = 'expected no "$codec" as the first field: that is the form of encoded values';

/** What an envelope holds: the encoded value itself, or where it is kept. */
export type Enveloped = { payload: EncodedPayload } | { object: StoredObject };

/** An object of the object store, which holds an envelope. */
export interface StoredObject {
  key: string;
  sha256: string;
  bytes: number;
}

/** Says whether JSON text is an encoded value. */
export const isEnvelope = (json: string): boolean => json.startsWith(MARK);

/** Says whether a value that was parsed from JSON is an encoded value. */
export const isEnveloped = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value)[0] === '$codec';

export const toEnvelope = ({ metadata, data }: EncodedPayload): string =>
  `${MARK}${JSON.stringify({
    metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
    data: base64(data ?? new Uint8Array()),
  })}}`;

const REFERENCE_MARK = `${MARK}{"object":`;

/** Returns the key of the object to which JSON text is a reference; null: it is none. */
export const objectKeyOf = (json: string): string | null => {
  if (!json.startsWith(REFERENCE_MARK)) return null;
  const read = readEnvelope(json);
  return 'object' in read ? read.object.key : null;
};

export const toReference = (object: StoredObject): string => `${MARK}${JSON.stringify({ object })}}`;

/** Reads an envelope. Throws for JSON that only looks like one. */
export const readEnvelope = (json: string): Enveloped => {
  const { metadata, data, object } = (JSON.parse(json) as { $codec: Record<string, unknown> }).$codec;
  if (typeof object === 'object' && object !== null) return { object: object as StoredObject };
  const names = Object.entries((metadata ?? {}) as Record<string, string>);
  const read = Object.fromEntries(names.map(([name, value]) => [name, fromBase64(value)]));
  return { payload: { metadata: read, data: fromBase64(data as string) } };
};

const TOKEN = /\[encoded:([A-Za-z0-9+/]+={0,2})\]/g;

/** Says whether a text has an encoded part. */
export const hasTokens = (text: string): boolean => text.includes('[encoded:');

/** Returns the text as which an envelope stands in a text. */
export const toToken = (envelope: string): string => `[encoded:${Buffer.from(envelope).toString('base64')}]`;

/** Returns the envelopes that stand in a text. */
export const envelopesIn = (text: string): string[] =>
  [...text.matchAll(TOKEN)].map(([, token]) => Buffer.from(token!, 'base64').toString());

/** Returns a text with each encoded part replaced by what `read` makes of it. */
export const replaceTokens = (text: string, read: (envelope: string) => string): string =>
  text.replace(TOKEN, (_, token: string) => read(Buffer.from(token, 'base64').toString()));

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const fromBase64 = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64'));
