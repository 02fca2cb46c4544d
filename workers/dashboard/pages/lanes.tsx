import type { LaneBatchView, LaneView, QueuerView } from '../../../workflows/contracts/lane';
import { useContext } from 'preact/hooks';
import { useLive } from '../api/live';
import { seesAll, SessionContext } from '../api/session';
import type { Action } from '../model/actions';
import { counted, number } from '../model/format';
import { fixHead, pauseLane, pauseLanes, resumeLane, resumeLanes, skipHead, weighLane } from '../model/moreActions';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Count, Empty, Facts, Meter, Ms, Shown, State, Table, Time, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import { Pager } from '../parts/pager';

/** Lanes: which wait, for what, and which are halted. */
export const Lanes = ({ place }: { place: Place }) => {
  const session = useContext(SessionContext);
  const queuers = useLive<{ queuers: QueuerView[] }>(seesAll(session) ? '/v1/queuers' : null);
  const live = useLive<{ lanes: LaneView[]; next?: string }>(
    apiPath(['v1', 'lanes'], { after: place.query['after'], limit: 100 }),
  );
  return (
    <>
      <Title>Lanes</Title>
      {queuers.data?.queuers.map((queuer) => (
        <Queuer key={queuer.id} queuer={queuer} again={queuers.again} />
      ))}
      <Shown live={live} missing="This token sees no lists of lanes.">
        {({ lanes, next }) =>
          lanes.length === 0 ? (
            <Empty>
              No lane yet. A handler with <code>service</code> or <code>lane</code> sends the batches of a service in
              order; its first submit makes the lane.
            </Empty>
          ) : (
            <>
              <Table
                caption="Lanes"
                head={['Service', 'State', '#Depth', '#Queued', '#Oldest', '#Pending', '#Share', 'Approach', 'Why']}
              >
                {lanes.map((lane) => (
                  <tr key={lane.service}>
                    <th scope="row">
                      <a href={hrefOf(['lanes', lane.service])}>{lane.service}</a>
                    </th>
                    <td>
                      <State word={lane.state} />
                    </td>
                    <td class="n">
                      <Count n={lane.depth} />
                    </td>
                    <td class="n">
                      <Count n={lane.queued} />
                    </td>
                    <td class="n">
                      <Ms ms={lane.oldestMs} />
                    </td>
                    <td class="n">
                      <Count n={lane.pending} />
                    </td>
                    <td class="n">{number(lane.share * 100)} %</td>
                    <td>{lane.approach}</td>
                    <td class="wide">{lane.reason}</td>
                  </tr>
                ))}
              </Table>
              <Pager place={place} next={next} />
            </>
          )
        }
      </Shown>
    </>
  );
};

const Queuer = ({ queuer, again }: { queuer: QueuerView; again: () => void }) => (
  <>
    {queuer.paused && <p class="sentence">All lanes are paused: {queuer.reason ?? 'no reason was given'}.</p>}
    {queuer.lanes > 0 && (
      <>
        <Actions actions={[queuer.paused ? resumeLanes(queuer.lanes) : pauseLanes(queuer.lanes)]} then={again} />
        <div class="meters">
          <Meter label="Submitters" n={queuer.taken} of={queuer.slots} />
        </div>
        <p class="foot">
          {counted(queuer.lanes, 'lane')}, {number(queuer.ready)} ready, {number(queuer.halted)} halted,{' '}
          {number(queuer.pausedLanes)} paused; strategy {queuer.strategy}, {counted(queuer.grants, 'grant')}
        </p>
      </>
    )}
  </>
);

/** One lane: its batches in their order, and what the first waits for. */
export const Lane = ({ place }: { place: Place }) => {
  const service = place.path[1]!;
  const live = useLive<LaneView & { batches: LaneBatchView[] }>(apiPath(['v1', 'lanes', service], { batches: 100 }));
  return (
    <>
      <Title trail={[['Lanes', '#/lanes']]}>{service}</Title>
      <Shown live={live} missing={`There is no lane ${service}. Its first submit makes it.`}>
        {(lane) => (
          <>
            {lane.reason !== null && (
              <p class="sentence">
                {lane.state === 'halted' ? `Halted by batch ${lane.haltedBy}: ` : 'Paused: '}
                {lane.reason}
              </p>
            )}
            <Actions actions={actionsFor(lane)} then={live.again} />
            <Facts
              facts={[
                ['state', <State word={lane.state} />],
                ['open batches', number(lane.depth)],
                ['tasks without a batch', number(lane.queued)],
                ['oldest', <Ms ms={lane.oldestMs} />],
                ['held for', <Ms ms={lane.holdInMs} />],
                ['order', `${lane.kind}, ${lane.approach}; invalid: ${lane.onInvalid}`],
                ['granted', `${number(lane.granted)}, weight ${lane.weight}`],
                ['partition', lane.partition ?? 'any node serves it'],
              ]}
            />
            <Order batches={lane.batches} depth={lane.depth} />
          </>
        )}
      </Shown>
    </>
  );
};

/** An invalid batch can be skipped; whether it was applied is asked of an unknown outcome. */
const isInvalid = (reason: string | null): boolean => reason?.startsWith('invalid') === true;

const actionsFor = ({ service, state, haltedBy, reason, weight }: LaneView): Action[] => [
  state === 'paused' ? resumeLane(service) : pauseLane(service),
  weighLane(service, weight),
  ...(haltedBy === null
    ? []
    : [
        skipHead(service, haltedBy),
        ...(isInvalid(reason) ? [] : [fixHead(service, haltedBy, 'applied'), fixHead(service, haltedBy, 'again')]),
      ]),
];

const Order = ({ batches, depth }: { batches: readonly LaneBatchView[]; depth: number }) =>
  batches.length === 0 ? (
    <Empty>No batch waits in this lane.</Empty>
  ) : (
    <>
      <h2>Batches in order</h2>
      <Table
        caption="Batches in order"
        head={['#Place', 'Batch', 'Status', '#Tasks', '#Attempts', 'Changed', 'What it waits for']}
      >
        {batches.map((batch) => (
          <tr key={batch.batch}>
            <td class="n">{batch.place}</td>
            <th scope="row">
              <a href={hrefOf(['batches', String(batch.batch)])}>{batch.batch}</a>
            </th>
            <td>
              <State word={batch.status} />
            </td>
            <td class="n">{number(batch.n)}</td>
            <td class="n">{batch.attempts}</td>
            <td>
              <Time at={batch.changedAt} />
            </td>
            <td class="wide">
              {batch.explanation}
              {batch.dependsOn.map((on) => (
                <span key={on}>
                  {' '}
                  <a href={hrefOf(['batches', String(on)])}>{on}</a>
                </span>
              ))}
            </td>
          </tr>
        ))}
      </Table>
      {depth > batches.length && <p class="foot">{number(depth - batches.length)} more behind them.</p>}
    </>
  );
