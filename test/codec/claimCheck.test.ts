import { CodecError } from '../../client';
import { ClaimCheck } from '../../handlers/codec/claimCheck';
import { sealerOf } from '../../handlers/codec/sealer';

test('large values are kept as objects; a missing, changed or unreachable one is an error of its value', async () => {
  const objects = new Map<string, Uint8Array>();
  let away = false;
  const store = {
    put: async (key: string, data: Uint8Array) => void objects.set(key, data),
    get: async (key: string) => {
      if (away) throw new Error('no answer');
      return objects.get(key) ?? null;
    },
  };
  const sealer = sealerOf({ objectStore: { store, overBytes: 1_024 } })!;
  const [small, large] = ['"a"', JSON.stringify('b'.repeat(2_000))] as const;
  const sealed = await sealer.seal('payload', [small, large], null);
  expect([sealed[0], objects.size]).toEqual([small, 1]);
  expect(await sealer.open('payload', sealed, null)).toEqual([small, large]);
  const [key] = objects.keys();
  away = true;
  expect(await sealer.open('payload', sealed, null)).toEqual([small, expect.objectContaining({ away: true })]);
  away = false;
  objects.set(key!, Buffer.from(JSON.stringify('c'.repeat(2_000))));
  const [, changed] = await sealer.open('payload', sealed, null);
  expect(changed).toBeInstanceOf(CodecError);
  expect(changed).toMatchObject({ away: false, message: expect.stringContaining('checksum differs') });
  objects.clear();
  const [, missing] = await sealer.open('payload', sealed, null);
  expect(missing).toMatchObject({ message: expect.stringContaining('is missing') });
});

test('a store that does not answer in time is away, for a put and for a get', async () => {
  const never = (): Promise<never> => new Promise(() => undefined);
  const claims = new ClaimCheck({ store: { put: never, get: never }, overBytes: 1 }, 20);
  const away = { name: 'CodecError', away: true, message: expect.stringMatching(/no answer within 20(\.\d+)? ms/) };
  await expect(claims.putLarge(['"ab"'], 1)).rejects.toMatchObject(away);
  await expect(claims.get({ key: 'a', sha256: '', bytes: 4 })).rejects.toMatchObject(away);
});

test('a large value may take its time', async () => {
  const put = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));
  const get = (): Promise<Uint8Array> => new Promise((resolve) => setTimeout(() => resolve(new Uint8Array(0)), 200));
  const claims = new ClaimCheck({ store: { put, get }, overBytes: 1 }, 20);
  const large = JSON.stringify('x'.repeat(1_000_000)); // 4 s
  const [reference] = await claims.putLarge([large], 1);
  expect(reference).toContain('1000002');
  await expect(claims.get({ key: 'a', sha256: '', bytes: 1_000_002 })).rejects.toMatchObject({ away: false });
});
