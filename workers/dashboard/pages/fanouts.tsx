import type { FanoutView } from '../../../workflows/contracts/fanout';
import { useLive } from '../api/live';
import { number } from '../model/format';
import type { Place } from '../model/place';
import { apiPath, hrefOf } from '../model/place';
import { Empty, Facts, Meter, Shown, State, Table, Time, Title } from '../parts/basic';

const ackedOf = ({ items, open }: FanoutView): number | null => (open === null ? null : items - open);

/** How much of a fan-out is acked: by items, or by segments where those are very many. */
const Progress = ({ fanout }: { fanout: FanoutView }) => {
  const acked = ackedOf(fanout);
  const { items, segments, openSegments } = fanout;
  return acked === null ? (
    <Meter
      label="Segments acked"
      n={segments - openSegments}
      of={segments}
      text={`${number(segments - openSegments)} of ${number(segments)} segments`}
    />
  ) : (
    <Meter label="Items acked" n={acked} of={items} />
  );
};

export const Fanouts = () => {
  const live = useLive<{ fanouts: FanoutView[] }>('/dashboard/fanouts?limit=50');
  return (
    <>
      <Title>Fan-outs</Title>
      <Shown live={live} missing="This token sees no fan-outs.">
        {({ fanouts }) =>
          fanouts.length === 0 ? (
            <Empty>
              No fan-out yet. One is opened with <code>muster.fanouts.open()</code>, and says when all of many items are
              done.
            </Empty>
          ) : (
            <Table
              caption="The newest fan-outs"
              head={['Fan-out', 'Name', 'State', 'Acked', 'Opened', 'Last change', 'Complete']}
            >
              {fanouts.map((fanout) => (
                <tr key={fanout.id}>
                  <th scope="row">
                    <a href={hrefOf(['fanouts', fanout.id])}>
                      <code>{fanout.id}</code>
                    </a>
                  </th>
                  <td>{fanout.userKey}</td>
                  <td>
                    <State word={fanout.state} />
                  </td>
                  <td>
                    <Progress fanout={fanout} />
                  </td>
                  <td>
                    <Time at={fanout.openedAt} />
                  </td>
                  <td>
                    <Time at={fanout.activeAt} />
                  </td>
                  <td>
                    <Time at={fanout.completedAt} />
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Shown>
    </>
  );
};

export const Fanout = ({ place }: { place: Place }) => {
  const id = place.path[1]!;
  const live = useLive<FanoutView>(apiPath(['v1', 'fanouts', id]));
  return (
    <>
      <Title trail={[['Fan-outs', '#/fanouts']]}>{id}</Title>
      <Shown
        live={live}
        missing={`There is no fan-out ${id}. It was never opened, or was deleted after its retention.`}
      >
        {(fanout) => (
          <>
            <div class="meters">
              <Progress fanout={fanout} />
            </div>
            <Facts
              facts={[
                ['name', fanout.userKey ?? 'none'],
                ['state', <State word={fanout.state} />],
                ['items', number(fanout.items)],
                ['not acked', fanout.open === null ? 'not counted' : number(fanout.open)],
                ['segments', `${number(fanout.segments)}, open ${number(fanout.openSegments)}`],
                ['opened', <Time at={fanout.openedAt} />],
                ['last change', <Time at={fanout.activeAt} />],
                ['sealed', <Time at={fanout.sealedAt} />],
                ['complete', <Time at={fanout.completedAt} />],
                ['expired', <Time at={fanout.expiredAt} />],
              ]}
            />
            {fanout.state === 'open' && <p class="foot">It is complete once it was sealed and every item is acked.</p>}
          </>
        )}
      </Shown>
    </>
  );
};
