/** A stream of server-sent events, read as it comes. */
export interface Followed {
  type: string;
  events: { name: string; data: Record<string, unknown> }[];
  /** The server has closed it. */
  over: Promise<void>;
  leave(): void;
}

export const follow = async (url: string, headers: Record<string, string> = {}): Promise<Followed> => {
  const leaving = new AbortController();
  const answer = await fetch(url, { headers, signal: leaving.signal });
  if (answer.status !== 200) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
  const events: Followed['events'] = [];
  const read = async (): Promise<void> => {
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of answer.body!) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const blocks = text.split('\n\n');
      text = blocks.pop()!;
      for (const block of blocks) {
        const [, name] = /^event: (.*)$/m.exec(block) ?? [];
        const [, data] = /^data: (.*)$/m.exec(block) ?? [];
        if (name !== undefined) events.push({ name, data: JSON.parse(data!) as Record<string, unknown> });
      }
    }
  };
  const over = read().catch((error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  });
  return { type: answer.headers.get('content-type')!, events, over, leave: () => leaving.abort() };
};
