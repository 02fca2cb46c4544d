import type { Invariant } from './invariant';
import { ofTable } from './invariant';

/** Leases end: one taken under a wrong clock would keep all others out for years. */

/** The longest configurable lease is an hour. */
const LONGEST = `interval '1 day'`;
/** The longest call is a day. */
const LONGEST_CALL = `interval '2 days'`;

export const leases: readonly Invariant[] = [
  {
    name: 'a leader holds no lease until long after it looks again',
    ...ofTable(
      'leader',
      `
select h.name as handler, l.name as leader, l.expires_at as until
from looked l join handler h on h.id = l.handler_id
where l.expires_at > greatest(clock(), l.wake_at) + ${LONGEST}
order by l.id limit 20`,
    ),
  },
  {
    name: 'no lease is held until long from now',
    text: `
select 'queuer' as of, id::text as what, holder, expires_at as until
from queuer
where expires_at > greatest(clock(), wake_at) + ${LONGEST}
union all select 'submitter', no::text, node, expires_at
from submitter
where expires_at > clock() + ${LONGEST}
union all select 'lease', resource, holder, greatest(expires_at, kept_until)
from lease
where greatest(expires_at, kept_until) > clock() + ${LONGEST}
union all select 'node', id, id, seen_at
from node
where seen_at > clock() + ${LONGEST}
union all select 'chunk', c.id::text, c.node_id, c.expires_at
from execution e join chunk c on c.execution_id = e.id
where e.state in (0 /* created */, 1 /* in progress */) and c.state = 1 /* taken */
  and c.expires_at > clock() + ${LONGEST}
order by 1, 2 limit 20`,
  },
  {
    name: 'no call may take until long from now',
    ...ofTable(
      'batch',
      `
select id as batch, attempt_by as node, attempt_until as until
from looked
where state = 1 /* open */ and attempt_until > clock() + ${LONGEST_CALL}
order by id limit 20`,
    ),
  },
];
