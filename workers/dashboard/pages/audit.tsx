import type { AuditView } from '../../../workflows/contracts/audit';
import { useLive } from '../api/live';
import { shorten } from '../model/format';
import type { Place } from '../model/place';
import { apiPath } from '../model/place';
import { Empty, Shown, State, Table, Time, Title } from '../parts/basic';
import { Pager, refine } from '../parts/pager';

const PER_PAGE = 100;

/** Who changed what, newest first. */
export const Audit = ({ place }: { place: Place }) => {
  const { before, who, subject } = place.query;
  const live = useLive<{ entries: AuditView[] }>(
    apiPath(['v1', 'audit'], { before, who, subject, limit: PER_PAGE }),
    5_000,
  );
  return (
    <>
      <Title>Audit</Title>
      <form
        class="filters"
        key={JSON.stringify(place.query)}
        onSubmit={(event) => {
          event.preventDefault();
          const given = new FormData(event.currentTarget);
          refine(place, Object.fromEntries(['who', 'subject'].map((name) => [name, String(given.get(name) ?? '')])));
        }}
      >
        <label>
          Who
          <input name="who" defaultValue={who ?? ''} maxLength={600} />
        </label>
        <label>
          Subject
          <input name="subject" defaultValue={subject ?? ''} placeholder="handler orders" />
        </label>
        <button type="submit">Filter</button>
      </form>
      <Shown live={live} missing="This token does not see the audit.">
        {({ entries }) =>
          entries.length === 0 ? (
            <Empty>No change matches. Pauses, flushes, redrives and the like are listed here, submits are not.</Empty>
          ) : (
            <>
              <Table caption="Changes" head={['When', 'Who', 'By', 'From', 'Verb', 'Subject', 'Detail', 'Outcome']}>
                {entries.map((entry) => (
                  <Line key={entry.id} entry={entry} />
                ))}
              </Table>
              <Pager place={place} name="before" next={entries.length < PER_PAGE ? null : String(entries.at(-1)!.id)} />
            </>
          )
        }
      </Shown>
    </>
  );
};

const Line = ({ entry }: { entry: AuditView }) => (
  <tr>
    <td>
      <Time at={entry.at} />
    </td>
    <th scope="row">{entry.who}</th>
    <td>{entry.door}</td>
    <td>{entry.origin}</td>
    <td>{entry.verb}</td>
    <td class="wide">{entry.subject}</td>
    <td class="wide">
      <code>{Object.keys(entry.detail).length === 0 ? '' : shorten(JSON.stringify(entry.detail), 300)}</code>
    </td>
    <td>
      <State word={entry.outcome ?? 'not known'} />
    </td>
  </tr>
);
