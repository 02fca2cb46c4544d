import type { Place } from '../model/place';
import { refine } from './pager';

/** A part of a list's address: typed, or chosen among values, of which '' is none. */
type Field =
  | { name: string; label: string; maxLength: number }
  | { name: string; label: string; choices: readonly (readonly [value: string, text: string])[]; chosen?: string };

export const ANY = ['', 'any'] as const;
export const HANDLER_FIELD: Field = { name: 'handler', label: 'Handler', maxLength: 64 };
export const TARGET_FIELD: Field = { name: 'target', label: 'Target', maxLength: 512 };
export const ERROR_FIELD: Field = { name: 'error', label: 'Error contains', maxLength: 1_000 };

/** What a list shows: it stands in the address, so that it can be sent to others. */
export const Filters = ({ place, fields }: { place: Place; fields: readonly Field[] }) => (
  <form
    class="filters"
    key={JSON.stringify(place.query)}
    onSubmit={(event) => {
      event.preventDefault();
      const given = new FormData(event.currentTarget);
      refine(place, Object.fromEntries(fields.map(({ name }) => [name, String(given.get(name) ?? '')])));
    }}
  >
    {fields.map((field) => (
      <label key={field.name}>
        {field.label}
        <Input field={field} value={place.query[field.name] ?? ''} />
      </label>
    ))}
    <button type="submit">Filter</button>
  </form>
);

const Input = ({ field, value }: { field: Field; value: string }) =>
  'choices' in field ? (
    <select name={field.name} onChange={(event) => event.currentTarget.form?.requestSubmit()}>
      {field.choices.map(([one, text]) => (
        <option key={one} value={one} selected={one === (field.chosen ?? value)}>
          {text}
        </option>
      ))}
    </select>
  ) : (
    <input name={field.name} defaultValue={value} maxLength={field.maxLength} />
  );
