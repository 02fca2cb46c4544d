import { once } from 'node:events';
import type { Writable } from 'node:stream';

const MAX_HEADER_BYTES = 16_384;
const MAX_FIELD_BYTES = 65_536;

interface Part {
  name: string;
  isFile: boolean;
}

/**
 * Reads a `multipart/form-data` body with one file, chunk by chunk: the file goes to `file` as it
 * comes, small fields are answered. Holds one chunk and a boundary's length at a time.
 * @throws Error on a body that is cut short, has no file or more than one, or a header or field
 * above its limit.
 */
export async function readUpload(
  chunks: AsyncIterable<Buffer>,
  boundary: string,
  file: Writable,
): Promise<{ fields: Record<string, string>; fileBytes: number }> {
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  const fields: Record<string, string> = {};
  let fileBytes: number | undefined;
  let part: Part | undefined;
  let inHeader = false;
  let buffer: Buffer = Buffer.from('\r\n'); // so that the first boundary looks like the others

  const store = async (bytes: Buffer): Promise<void> => {
    if (part?.isFile === true) {
      fileBytes = (fileBytes ?? 0) + bytes.length;
      if (bytes.length > 0 && !file.write(bytes)) {
        await once(file, 'drain');
      }
    } else if (part !== undefined) {
      fields[part.name] = (fields[part.name] ?? '') + bytes.toString();
      assertBelow(fields[part.name]?.length ?? 0, MAX_FIELD_BYTES, `field ${part.name}`);
    }
  };

  for await (const chunk of chunks) {
    buffer = Buffer.concat([buffer, chunk]);
    for (;;) {
      if (inHeader) {
        if (buffer.length >= 2 && buffer.toString('latin1', 0, 2) === '--') {
          return finished(fields, fileBytes);
        }
        const end = buffer.indexOf('\r\n\r\n');
        if (end < 0) {
          assertBelow(buffer.length, MAX_HEADER_BYTES, 'part header');
          break;
        }
        part = readPart(buffer.toString('utf8', 0, end), fileBytes !== undefined);
        buffer = buffer.subarray(end + 4);
        inHeader = false;
      }
      const end = buffer.indexOf(delimiter);
      if (end < 0) {
        const sure = Math.max(0, buffer.length - delimiter.length);
        await store(buffer.subarray(0, sure));
        buffer = buffer.subarray(sure);
        break;
      }
      await store(buffer.subarray(0, end));
      buffer = buffer.subarray(end + delimiter.length);
      inHeader = true;
    }
  }
  throw new Error('multipart body: expected a closing boundary, got the end of the body');
}

function readPart(header: string, hasFile: boolean): Part {
  const name = /\bname="([^"]*)"/.exec(header)?.[1];
  if (name === undefined) {
    throw new Error('multipart body: expected a part with a name');
  }
  const isFile = /\bfilename="/.test(header);
  if (isFile && hasFile) {
    throw new Error('multipart body: expected one file, got a second');
  }
  return { name, isFile };
}

function finished(fields: Record<string, string>, fileBytes: number | undefined) {
  if (fileBytes === undefined) {
    throw new Error('multipart body: expected a file, got none');
  }
  return { fields, fileBytes };
}

function assertBelow(bytes: number, limit: number, what: string): void {
  if (bytes > limit) {
    throw new Error(`multipart body: ${what}: expected at most ${limit} bytes, got ${bytes}`);
  }
}
