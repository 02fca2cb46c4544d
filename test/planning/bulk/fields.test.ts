import { STATES_OF_ACTION } from '../../../workflows/planning/bulk/actions';
import { isHiddenFromOlder, unknownPart } from '../../../workflows/planning/bulk/fields';

/** Which bulk actions, as they are stored, a program of which age may make. */

type Fields = Record<string, unknown>;

const FIRST_FILTER = {
  ...{ state: 'dead', target: 'se', tag: 't', error: 'e', errorCode: '503', errorGroup: 'g' },
  ...{ since: 1, until: 2, limit: 3 },
};

test.each<[Fields, Fields, isHidden: boolean, unknown: string | null]>([
  [{ do: 'cancel' }, FIRST_FILTER, false, null],
  [{ do: 'redrive' }, {}, false, null],
  [{ do: 'resolve', as: 'failed', result: null, error: 'e' }, {}, false, null],
  [{ do: 'update', priority: 1, weight: 2, notBeforeMs: 3 }, { id: undefined }, false, null],
  [{ do: 'update', payloadPatch: {} }, {}, true, null],
  [{ do: 'update', payloadVersion: 2 }, {}, true, null],
  [{ do: 'update', expiresAtMs: 5 }, {}, true, null],
  [{ do: 'update', payloadPatch: undefined }, {}, false, null],
  [{ do: 'cancel' }, { id: 'a' }, true, null],
  [{ do: 'cancel' }, { target: 'se', nodes: 1 }, true, 'where.nodes'],
  [{ do: 'cancel', priority: 1 }, {}, true, 'action.priority'],
  [{ do: 'update', colour: 1 }, { nodes: 1 }, true, 'action.colour'],
])(
  'the action %j on %j is hidden from older programs: %j; unknown to this one: %j',
  (action, filter, isHidden, part) => {
    expect(isHiddenFromOlder({ action, filter })).toBe(isHidden);
    expect(unknownPart({ action, filter })).toBe(part);
  },
);

test('a verb that this program does not know is named', () => {
  expect(unknownPart({ action: { do: 'archive', priority: 1 }, filter: { nodes: 1 } })).toBe('the action archive');
});

test('what waits is changed or cancelled, what has ended is done again, what is unknown is decided', () => {
  expect(STATES_OF_ACTION).toEqual({
    cancel: ['created'],
    redrive: ['failed', 'dead', 'unknown', 'succeeded'],
    resolve: ['unknown'],
    update: ['created'],
  });
});
