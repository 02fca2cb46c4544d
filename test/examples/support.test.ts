import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import * as fc from 'fast-check';
import { readUpload } from '../../examples/openai-batch/multipart';
import { call, retryAfterMs } from '../../examples/support/call';
import { lines } from '../../examples/support/lines';
import { collectText, rejection } from './helpers';

/** The bytes, cut at these places. */
async function* cut(bytes: Buffer, places: readonly number[]): AsyncGenerator<Buffer> {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let index = 1; index < sorted.length; index += 1) {
    yield bytes.subarray(sorted[index - 1], sorted[index]);
  }
}

describe('lines', () => {
  it('are the same however the bytes are cut [H8]', async () => {
    const line = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => text.trim() !== '' && !/[\n\r]/.test(text));
    await fc.assert(
      fc.asyncProperty(fc.array(line), fc.array(fc.nat()), async (all, places) => {
        const read: string[] = [];
        for await (const text of lines(cut(Buffer.from(all.join('\n')), places))) {
          read.push(text);
        }
        expect(read).toEqual(all);
      }),
    );
  });

  it('refuses a line that would not end', async () => {
    const endless = lines(cut(Buffer.alloc(1_000, 'x'), []), 100);
    expect((await rejection(endless.next())).message).toBe('a line is longer than 100 characters');
  });
});

describe('readUpload', () => {
  const content = 'one\r\n--almost\r\n--cut\ntwo\n';
  const body = Buffer.from(
    `--cut-here\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n` +
      `--cut-here\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\nContent-Type: text/plain\r\n\r\n` +
      `${content}\r\n--cut-here--\r\n`,
  );

  it('reads the same fields and file however the body is cut', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(), { maxLength: 20 }), async (places) => {
        const file = new PassThrough();
        const stored = collectText(file);
        const { fields, fileBytes } = await readUpload(cut(body, places), 'cut-here', file);
        file.end();
        expect({ fields, fileBytes, stored: await stored }).toEqual({
          fields: { purpose: 'batch' },
          fileBytes: Buffer.byteLength(content),
          stored: content,
        });
      }),
    );
  });

  it('refuses a body that is cut short, and one without a file', async () => {
    const short = await rejection(readUpload(cut(body.subarray(0, -20), []), 'cut-here', new PassThrough().resume()));
    const fileless = Buffer.from('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x--\r\n');
    const none = await rejection(readUpload(cut(fileless, []), 'x', new PassThrough().resume()));
    expect([short.message, none.message]).toEqual([
      'multipart body: expected a closing boundary, got the end of the body',
      'multipart body: expected a file, got none',
    ]);
  });
});

describe('call', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer((request, response) => {
      const status = Number(request.url?.slice(1));
      response.writeHead(status, status === 429 ? { 'retry-after': '3' } : { location: '/200' }).end('because');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => new Promise((resolve) => server.close(resolve)));

  it.each([
    [400, 'RejectedError'],
    [413, 'RejectedError'],
    [422, 'RejectedError'],
    [302, 'HaltError'],
    [401, 'HaltError'],
    [403, 'HaltError'],
    [404, 'HaltError'],
    [405, 'HaltError'],
    [409, 'Error'],
    [429, 'LaterError'],
    [503, 'LaterError'],
    [500, 'Error'],
    [502, 'Error'],
  ])('%s is a %s [H4 H5]', async (status, name) => {
    const error = await rejection(call(`${url}/${status}`, { method: 'POST' }));
    expect(error.name).toBe(name);
    expect(error.message).toBe(`POST ${url}/${status} answered ${status}: because`);
    expect(error.options?.retryAfterMs).toBe(status === 429 ? 3_000 : undefined);
  });

  it('reads Retry-After as seconds or as a date [H5]', () => {
    const now = Date.parse('2026-01-01T00:00:00Z');
    expect(retryAfterMs('7', now)).toBe(7_000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:09 GMT', now)).toBe(9_000);
    expect(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
    expect([retryAfterMs(null, now), retryAfterMs('soon', now)]).toEqual([undefined, undefined]);
  });
});
