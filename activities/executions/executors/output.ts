/**
 * Returns storable text of at most `bytes` UTF-8 bytes: NUL becomes U+FFFD, and a note says what
 * was cut off. `total`: the bytes there were, if more.
 */
export const cutOutput = (text: string, bytes: number, total = 0): string => {
  const buffer = Buffer.from(text.replaceAll('\0', '\ufffd'));
  if (buffer.length <= bytes) return buffer.toString();
  let end = bytes;
  while (end > 0 && (buffer[end]! & 0xc0) === 0x80) end--; // not within a character
  return `${buffer.subarray(0, end).toString()}\n[cut: ${Math.max(total, buffer.length)} bytes, the limit is ${bytes}]`;
};
