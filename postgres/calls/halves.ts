import type { Client } from '../pool';

/** Locks a half that waited for its sibling and returns why it was refused. */
export const lockRefused = async (client: Client, id: number): Promise<string> => {
  const { rows } = await client.query<{ error: string }>({
    name: 'lock-refused',
    text: 'select error from batch where id = $1 for no key update',
    values: [id],
  });
  return rows[0]!.error;
};

/**
 * Returns the other half. Locks their parent first, so that the settlements of the two halves go
 * one after the other.
 */
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

export interface Pair {
  id: number;
  attempt: number;
  state: number;
  refused: boolean;
  /**
   * The asking half is the first of its pair and of everything that their batch was split from, and
   * its lane does not halt on it.
   */
  leads: boolean;
}

/**
 * Returns the other half of a lane batch that was halved down to one task each. Locks their parent
 * first.
 */
export const lockPair = async (client: Client, parentId: number, id: number): Promise<Pair | null> => {
  await client.query({
    name: 'lock-parent',
    text: 'select from batch where id = $1 for no key update',
    values: [parentId],
  });
  const { rows } = await client.query<Pair>({
    name: 'find-pair',
    text: `
with recursive up as (
  select b.id, b.parent_id, b.depth, b.members[1] as first
  from batch b
  where b.id = $2
  union all select p.id, p.parent_id, p.depth, p.members[1]
  from up u join batch p on p.id = u.parent_id
  where u.depth > 0)
select o.id, o.attempt, o.state, o.refused, o.members[1] > b.members[1]
  and (select bool_and(u.first = b.members[1]) from up u) and exists (
    select from lane_batch s join lane l on l.id = s.lane_id
    where s.batch_id = b.id and l.on_invalid = 0 /* continue */) as leads
from batch b join batch o on o.parent_id = b.parent_id and o.id <> b.id and o.depth = b.depth
where b.id = $2 and b.parent_id = $1`,
    values: [parentId, id],
  });
  return rows[0] ?? null;
};

/**
 * Reopens a refused half to be sent again, at its place: both halves were refused, so its content
 * is not the reason.
 */
export const reopenRefused = async (client: Client, id: number): Promise<void> => {
  await client.query({
    name: 'reopen-refused',
    text: `
update batch set refused = false, reference = null, poll_at = null
where id = $1 and state = 1 /* open */ and refused`,
    values: [id],
  });
};

/**
 * Marks a half as refused; its end depends on what happens to the other half of the first split.
 */
export const markRefused = async (client: Client, id: number, error: string): Promise<void> => {
  await client.query({
    name: 'mark-refused',
    text: 'update batch set refused = true, attempt_until = null, dispatch = null, error = $2 where id = $1',
    values: [id, error],
  });
};
