/**
 * Splits a stream of bytes into its lines, holding one line and one chunk at a time. Empty lines
 * are left out.
 * @throws Error when a line is longer than `maxLineLength` characters: a peer must not decide how
 * much memory we use.
 */
export async function* lines(chunks: AsyncIterable<Uint8Array>, maxLineLength = 16_000_000): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of chunks) {
    const pieces = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = pieces.pop() ?? '';
    if (rest.length > maxLineLength) {
      throw new Error(`a line is longer than ${maxLineLength} characters`);
    }
    for (const piece of pieces) {
      if (piece.trim() !== '') {
        yield piece;
      }
    }
  }
  const last = rest + decoder.decode();
  if (last.trim() !== '') {
    yield last;
  }
}
