import { leb } from '../../../activities/executions/executors/wasm/binary';

/** Modules by their bytes: what the assembler of the tests does not know, or would not write. */

const HEADER = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

export const section = (id: number, body: readonly number[]): number[] => [id, ...leb(body.length), ...body];
export const vector = (items: readonly (readonly number[])[]): number[] => [...leb(items.length), ...items.flat()];
export const text = (value: string): number[] => {
  const bytes = [...Buffer.from(value)];
  return [...leb(bytes.length), ...bytes];
};
export const moduleOf = (...sections: readonly (readonly number[])[]): Uint8Array => {
  // Not by spreading: a module may have a million bytes.
  return Buffer.concat([HEADER, ...sections].map((part) => Buffer.from(part)));
};

const NO_LOCALS = [0x00];
const END = 0x0b;
export const code = (...instructions: readonly number[]): number[] => {
  const body = [...NO_LOCALS, ...instructions, END];
  return [...leb(body.length), ...body];
};

/** Type 0: no parameter, no result. */
export const TYPES = section(1, vector([[0x60, 0x00, 0x00]]));
export const FUNCTIONS = section(3, vector([[0x00]]));
export const MEMORY = section(5, vector([[0x00, 0x01]]));
export const EXPORTS = section(
  7,
  vector([
    [...text('memory'), 0x02, 0x00],
    [...text('_start'), 0x00, 0x00],
  ]),
);
export const BODY = section(10, vector([code()]));
