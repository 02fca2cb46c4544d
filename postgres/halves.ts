import type { Client } from './pool';

/** A half that waited for its sibling, locked; why it was refused. */
export const lockRefused = async (client: Client, id: number): Promise<string> => {
  const { rows } = await client.query<{ error: string }>({
    name: 'lock-refused',
    text: 'select error from batch where id = $1 for no key update',
    values: [id],
  });
  return rows[0]!.error;
};

/** The other half, its parent locked first: settles of the two halves go one after the other. */
export const lockSibling = async (
  client: Client,
  parentId: number,
  id: number,
): Promise<{ id: number; attempt: number; state: number; refused: boolean } | null> => {
  await client.query({
    name: 'lock-parent',
    text: 'select from batch where id = $1 for no key update',
    values: [parentId],
  });
  const { rows } = await client.query<{ id: number; attempt: number; state: number; refused: boolean }>({
    name: 'find-sibling',
    text: 'select id, attempt, state, refused from batch where parent_id = $1 and id <> $2 and depth = 1',
    values: [parentId, id],
  });
  return rows[0] ?? null;
};

/** Waits for what becomes of the other half of the first split (H4). */
export const markRefused = async (client: Client, id: number, error: string): Promise<void> => {
  await client.query({
    name: 'mark-refused',
    text: 'update batch set refused = true, attempt_until = null, dispatch = null, error = $2 where id = $1',
    values: [id, error],
  });
};
