import type { BatchView } from '../../../workflows/contracts/batch';
import type { BatchHalves } from '../../../workflows/contracts/dashboard';
import { useLive } from '../api/live';
import { cancelBatch, resolveBatch, VERDICTS } from '../model/actions';
import type { Action, VerdictName } from '../model/actions';
import { bytes, counted, number } from '../model/format';
import type { Tree } from '../model/halves';
import { treesOf } from '../model/halves';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Facts, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';

/** One batch: its calls, its outcome and its members. */
export const Batch = ({ place }: { place: Place }) => {
  const id = place.path[1]!;
  const live = useLive<BatchView>(apiPath(['v1', 'batches', id]));
  const { data } = live;
  const trail =
    data === null
      ? ([['Overview', '#/']] as const)
      : ([
          ['Overview', '#/'],
          [data.handler, hrefOf(['handlers', data.handler])],
          [data.target, hrefOf(['handlers', data.handler, 'targets', data.target])],
        ] as const);
  return (
    <>
      <Title trail={trail}>{`Batch ${id}`}</Title>
      <Shown live={live} missing={`There is no batch ${id}. It does not exist, or was deleted after its retention.`}>
        {(batch) => <Whole batch={batch} again={live.again} />}
      </Shown>
    </>
  );
};

const actionsFor = ({ id, state, n, left, cancellation }: BatchView): Action[] => [
  ...(state === 'unknown' ? (Object.keys(VERDICTS) as VerdictName[]).map((as) => resolveBatch(id, n - left, as)) : []),
  ...(state === 'open' && cancellation === null ? [cancelBatch(id, n - left)] : []),
];

const Whole = ({ batch, again }: { batch: BatchView; again: () => void }) => {
  const { n, left, members } = batch;
  return (
    <>
      <Actions actions={actionsFor(batch)} then={again} />
      <Outcome batch={batch} />
      <Halves batch={batch} />
      {batch.error !== null && (
        <>
          <h2>Error</h2>
          <pre tabIndex={0}>{[batch.error, batch.stack].filter((one) => one !== null).join('\n\n')}</pre>
        </>
      )}
      <h2>Members</h2>
      {members.length > 0 && (
        <Table caption="Members" head={['Task', 'State']}>
          {members.map((member) => (
            <tr key={member.id}>
              <th scope="row">
                <a href={hrefOf(['tasks', member.id])}>{member.id}</a>
              </th>
              <td>
                <State word={member.state} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <p class="foot">
        {counted(members.length, 'member')} shown of {number(n - left)}
        {left > 0 && `; ${number(left)} left it`}
      </p>
    </>
  );
};

/** The split that a batch is of, wherever in it: the whole one on top. */
const Halves = ({ batch: { id, parent, children } }: { batch: BatchView }) => {
  const isSplit = parent !== null || children.length > 0;
  const { data } = useLive<BatchHalves>(isSplit ? apiPath(['dashboard', 'batches', String(id), 'halves']) : null);
  if (data === null) return null;
  const { batches, complete } = data;
  return (
    <>
      <h2>Halves</h2>
      <Trees trees={treesOf(batches)} shown={id} />
      {!complete && <p class="foot">{counted(batches.length, 'batch', 'batches')} shown; there are more.</p>}
    </>
  );
};

const Trees = ({ trees, shown }: { trees: readonly Tree[]; shown: number }) => (
  <ul class="tree">
    {trees.map(({ batch: { id, state, n, left, attempts }, halves }) => (
      <li key={id}>
        <a href={hrefOf(['batches', String(id)])} aria-current={id === shown ? 'page' : undefined}>
          {id}
        </a>{' '}
        <State word={state} /> {number(n - left)} of {counted(n, 'task')}, {counted(attempts, 'call')}
        {halves.length > 0 && <Trees trees={halves} shown={shown} />}
      </li>
    ))}
  </ul>
);

const Outcome = ({ batch }: { batch: BatchView }) => (
  <Facts
    facts={[
      ['state', <State word={batch.state} />],
      ['closed by', batch.reason],
      ['tasks', `${number(batch.n - batch.left)} of ${number(batch.n)}`],
      ['bytes', bytes(batch.bytes)],
      ['weight', number(batch.weight)],
      ['calls', `${number(batch.attempts)}, of which count ${number(batch.counted)}`],
      ['formed', <Time at={batch.createdAt} />],
      ['first call', <Time at={batch.startedAt} />],
      ['next call', <Time at={batch.retryAt} />],
      ['ended', <Time at={batch.finishedAt} />],
      ['last call by', batch.attemptBy ?? 'none'],
      ['reference', batch.reference ?? 'none'],
      ['next look at it', <Time at={batch.pollAt} />],
      ['idempotency key', <code>{batch.idempotencyKey}</code>],
      ...(batch.cancellation === null
        ? []
        : [['cancellation', `${batch.cancellation.state}: ${batch.cancellation.cause}`] as const]),
    ]}
  />
);
