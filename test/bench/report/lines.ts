import type { Socket } from 'node:net';

const NEWLINE = 10;

/** Calls `take` with every line that comes, decoded once it is whole. */
export const linesOf = (socket: Socket, take: (line: string) => void): void => {
  let parts: Buffer[] = [];
  socket.on('data', (data: Buffer) => {
    let from = 0;
    for (let end = data.indexOf(NEWLINE); end >= 0; end = data.indexOf(NEWLINE, from)) {
      parts.push(data.subarray(from, end));
      take((parts.length === 1 ? parts[0]! : Buffer.concat(parts)).toString());
      parts = [];
      from = end + 1;
    }
    if (from < data.length) parts.push(data.subarray(from));
  });
};
