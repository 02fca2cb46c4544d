import { useContext } from 'preact/hooks';
import type { Overview as View, OverviewHandler } from '../../../workflows/contracts/dashboard';
import { useLive } from '../api/live';
import { SessionContext } from '../api/session';
import type { Finding } from '../model/finding';
import { findingsOf, standingOf } from '../model/findings';
import { counted, number } from '../model/format';
import { hrefOf } from '../model/place';
import { Count, Empty, Meter, Ms, Shown, State, Table, Title } from '../parts/basic';
import { Actions } from '../parts/buttons';
import type { Lately } from '../parts/spark';
import { Spark, useLately } from '../parts/spark';

/** What is wrong, why, and what to press; then every handler in a line. */
export const Overview = () => {
  const { view } = useContext(SessionContext);
  const live = useLive<View>('/dashboard/overview', 1_000);
  return (
    <>
      <Title>Overview</Title>
      {view.tenant === null ? (
        <Shown live={live}>{(overview) => <Glance overview={overview} again={live.again} />}</Shown>
      ) : (
        <Empty>
          This token is of the tenant {view.tenant}. See its <a href="#/lanes">lanes</a>,{' '}
          <a href="#/executions">executions</a> and <a href="#/fanouts">fan-outs</a>, or find one of its tasks by id.
        </Empty>
      )}
    </>
  );
};

const Glance = ({ overview, again }: { overview: View; again: () => void }) => {
  const findings = findingsOf(overview);
  const { handlers, nodes } = overview;
  return (
    <>
      <section aria-labelledby="wrong">
        <h2 id="wrong">{findings.length === 0 ? 'Nothing is wrong' : 'What is wrong'}</h2>
        {findings.length > 0 && (
          <ul class="findings">
            {findings.map((finding) => (
              <Found key={finding.what} finding={finding} again={again} />
            ))}
          </ul>
        )}
      </section>
      <section>
        <h2>Handlers</h2>
        {handlers.length === 0 ? (
          <Empty>
            There is no handler yet. Start a worker with a config file (<code>muster worker</code>), or submit a task.
          </Empty>
        ) : (
          <Handlers handlers={handlers} now={Date.parse(overview.at)} />
        )}
      </section>
      {nodes !== null && (
        <p class="foot">
          <a href="#/nodes">{counted(nodes.alive, 'worker')}</a> alive
          {nodes.silent > 0 && `, ${nodes.silent} silent`}
          {nodes.drained > 0 && `, ${nodes.drained} drained`}
          {nodes.versions.length > 1 && `, versions ${nodes.versions.join(', ')}`}
        </p>
      )}
    </>
  );
};

const Found = ({ finding, again }: { finding: Finding; again: () => void }) => (
  <li class={finding.level}>
    <p class="what">
      <a href={finding.href}>{finding.what}</a>
    </p>
    <p class="why">
      {finding.why} <span class="next">{finding.next}</span>
    </p>
    {finding.action !== undefined && <Actions actions={[finding.action]} then={again} />}
  </li>
);

type LatelyBy = ReadonlyMap<string, Lately>;
const LATELY = ['#Calls/s', '#Ends/min', 'Last hour'];
const headOf = (lately: unknown): string[] => {
  const [perSecond, perMinute, hour] = lately === null ? [] : LATELY;
  const head = ['Handler', 'State', '#Waiting', '#Oldest', 'Calls', perSecond, perMinute];
  return [...head, '#Parked', '#Failed', '#Dead', '#Succeeded', hour].filter((name) => name !== undefined);
};

const Handlers = ({ handlers, now }: { handlers: readonly OverviewHandler[]; now: number }) => {
  const lately = useLately();
  return (
    <Table caption="Handlers" head={headOf(lately)}>
      {handlers.map((handler) => (
        <Line key={handler.handler} handler={handler} now={now} lately={lately} />
      ))}
    </Table>
  );
};

/** What a handler does now; one that made no call for an hour does nothing. */
const Now = ({ lately }: { lately: Lately | undefined }) => {
  const { callsPerS, endsPerMin, ends } = lately?.figures ?? { callsPerS: '0', endsPerMin: '0', ends: 'none' };
  const shown = (text: string) => (text === '0' ? <span class="none">0</span> : text);
  return (
    <>
      <td class="n">{shown(callsPerS)}</td>
      <td class="n" title={ends}>
        {shown(endsPerMin)}
      </td>
    </>
  );
};

const Line = ({ handler, now, lately }: { handler: OverviewHandler; now: number; lately: LatelyBy | null }) => {
  const { handler: name, counts, limits, oldestQueuedMs, inFlightCalls, estimated } = handler;
  const { word, level, why } = standingOf(handler, now);
  const tasks = (state: string): string => hrefOf(['handlers', name, 'tasks'], { state });
  const most = Math.min(limits.perHandler, limits.allowed ?? Infinity);
  return (
    <tr>
      <th scope="row">
        <a href={hrefOf(['handlers', name])}>{name}</a>
      </th>
      <td>
        <State word={word} level={level} /> <span class="why">{why}</span>
      </td>
      <td class="n" title={estimated ? 'Estimated from a sample' : undefined}>
        <Count n={counts.created} href={tasks('created')} />
      </td>
      <td class="n">
        <Ms ms={oldestQueuedMs} />
      </td>
      <td>
        <Meter
          label={`Calls of ${name}`}
          n={inFlightCalls}
          of={most}
          text={most >= 1_000_000 ? number(inFlightCalls) : `${number(inFlightCalls)} of ${number(most)}`}
        />
      </td>
      {lately !== null && <Now lately={lately.get(name)} />}
      <td class="n">
        <Count n={counts.unknown} href={tasks('unknown')} />
      </td>
      <td class="n">
        <Count n={counts.failed} href={tasks('failed')} />
      </td>
      <td class="n">
        <Count n={counts.dead} href={tasks('dead')} />
      </td>
      <td class="n">
        <Count n={counts.succeeded} href={tasks('succeeded')} />
      </td>
      {lately !== null && (
        <td>
          <Spark hour={lately.get(name)?.hour} />
        </td>
      )}
    </tr>
  );
};
