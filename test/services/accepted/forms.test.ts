import type { Completion } from '../../../activities/accepted/completion';
import { checkCompletion, CompletionReader } from '../../../activities/accepted/completion';

/** What a completion may be: the same for the client, the signal and the HTTP callback. */

const RESULTS = [{ index: 0, status: 'ok' as const }];
const form = (completion: object): Completion => completion as Completion;

test.each<[string, object]>([
  ['results by reference', { reference: 'r', results: RESULTS }],
  ['results by batch', { batchId: 1, results: RESULTS }],
  ['results of an iterable', { reference: 'r', status: 'done', results: new Set(RESULTS) }],
  ['expired, with what is done', { reference: 'r', status: 'expired', results: RESULTS, error: 'late' }],
  ['expired, with nothing done', { reference: 'r', status: 'expired' }],
  ['failed, with its reason', { reference: 'r', status: 'failed', error: 'no' }],
  ['failed, without one', { reference: 'r', status: 'failed' }],
])('taken: %s', (_, completion) => {
  expect(checkCompletion(form(completion))).toBeNull();
});

test.each<[string, object | null, string]>([
  ['nothing', null, 'completion'],
  ['neither reference nor batch', { results: RESULTS }, 'reference'],
  ['both of them', { reference: 'r', batchId: 1, results: RESULTS }, 'reference'],
  ['an empty reference', { reference: '', results: RESULTS }, 'reference'],
  ['batch 0', { batchId: 0, results: RESULTS }, 'batchId'],
  ['a part of a batch', { batchId: 1.5, results: RESULTS }, 'batchId'],
  ['another status', { reference: 'r', status: 'ended', results: RESULTS }, 'status'],
  ['an error that is no text', { reference: 'r', status: 'failed', error: 7 }, 'error'],
  ['done, with an error', { reference: 'r', results: RESULTS, error: 'no' }, 'error'],
  ['failed, with results', { reference: 'r', status: 'failed', results: RESULTS }, 'results'],
  ['done, without results', { reference: 'r' }, 'results'],
  ['results that are no list', { reference: 'r', results: { index: 0 } }, 'results'],
  ['expired, with such', { reference: 'r', status: 'expired', results: 'all' }, 'results'],
])('refused, with its field: %s', (_, completion, field) => {
  expect(checkCompletion(completion as never)).toMatchObject({ field });
});

test('a repeat is known by its digest: of its status, its reason and each result, in their order', async () => {
  const digestOf = (completion: object): Promise<string | null> => new CompletionReader(form(completion)).readDigest(2);
  const two = [...RESULTS, { index: 1, status: 'ok' }];
  const all = [
    { results: RESULTS },
    { results: two },
    { results: [...two].reverse() },
    { status: 'expired', results: RESULTS },
    { status: 'expired', results: RESULTS, error: 'late' },
  ];
  const digests = await Promise.all(all.map(digestOf));
  expect(digests).not.toContain(null);
  expect(new Set(digests).size).toBe(all.length);
  expect(await digestOf({ status: 'done', results: RESULTS })).toBe(digests[0]);
  expect(await digestOf({ results: [...two, ...two] })).toBeNull();
});
