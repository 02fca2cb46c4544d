import { ResultPages } from '../../activities/calls/resultPages';
import { PAGE_BYTES, PAGE_MEMBERS } from '../../postgres/calls/records';
import type { ResultPage } from '../../postgres/calls/records';

const pagesOf = (): { pages: ResultPages; written: ResultPage[] } => {
  const written: ResultPage[] = [];
  const pages = new ResultPages(7, 1, async (page) => void written.push(page));
  return { pages, written };
};

test('a value costs no promise unless a page is full, which is written first', async () => {
  const { pages, written } = pagesOf();
  for (let i = 0; i < PAGE_MEMBERS; i++) expect(pages.add(i, { n: i })).toBeUndefined();
  const full = pages.add(PAGE_MEMBERS, { n: PAGE_MEMBERS });
  expect(full).toBeInstanceOf(Promise);
  await full;
  expect(written.map(({ no, first, last }) => [no, first, last])).toEqual([[0, 0, PAGE_MEMBERS - 1]]);
  expect(pages.add(PAGE_MEMBERS + 1, undefined)).toBeUndefined();
  expect(await pages.rest()).toEqual([
    { batch_id: 7, attempt: 1, no: 1, first: PAGE_MEMBERS, last: PAGE_MEMBERS, results: '[[1000,{"n":1000}]]' },
  ]);
});

test('a page ends before the value that would make it too large', async () => {
  const { pages, written } = pagesOf();
  const large = 'x'.repeat(PAGE_BYTES / 2);
  expect(pages.add(0, large)).toBeUndefined();
  await pages.add(1, large);
  expect(written).toHaveLength(1);
});

test('a page that cannot be written rejects the value that found it full', async () => {
  const pages = new ResultPages(7, 1, () => Promise.reject(new Error('no space')));
  for (let i = 0; i < PAGE_MEMBERS; i++) void pages.add(i, i);
  await expect(pages.add(PAGE_MEMBERS, 1)).rejects.toThrow('no space');
});
