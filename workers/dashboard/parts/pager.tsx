import type { Place } from '../model/place';
import { hrefOf } from '../model/place';

/** Links to the first and the next page of a list; where it stands is in the address. */
export const Pager = ({
  place,
  name = 'after',
  next,
}: {
  place: Place;
  name?: string;
  next: string | null | undefined;
}) => {
  const { path, query } = place;
  const isFirst = query[name] === undefined;
  if (isFirst && next == null) return null;
  return (
    <nav class="pager" aria-label="Pages">
      {!isFirst && <a href={hrefOf(path, { ...query, [name]: undefined })}>First page</a>}
      {next != null && <a href={hrefOf(path, { ...query, [name]: next })}>Next page</a>}
    </nav>
  );
};

/** Goes to the same page with other filters, from its beginning. */
export const refine = ({ path, query }: Place, changes: Readonly<Record<string, string>>): void => {
  location.hash = hrefOf(path, { ...query, after: undefined, before: undefined, ...changes });
};
