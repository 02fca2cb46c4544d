import { LookStory } from '../../../workflows/planning/lookDetails';

const at = Date.parse('2026-01-02T03:04:05Z');

test('a run that looks tells what its looks did in all, and the last error with its time', () => {
  const story = new LookStory('Notifier');
  expect(story.details('looks', at).split('\n')).toEqual([
    '**Notifier**, as of 2026-01-02T03:04:05.000Z',
    '',
    '- looks',
    '- this run: 0 looks',
    '- last error: none',
  ]);
  story.add({ did: { delivered: 2, 'put off': 0 } }, at);
  expect(story.details('looks', at)).toContain('\n- this run: 1 look, 2 delivered, 0 put off\n');
  story.add({ did: { delivered: 1, 'put off': 1 }, lastError: `refused\n${'x'.repeat(600)}` }, at);
  story.add({ did: { delivered: 0, 'put off': 0 } }, at + 60_000);
  expect(story.details('next delivery in 5 ms', at + 60_000).split('\n')).toEqual([
    '**Notifier**, as of 2026-01-02T03:05:05.000Z',
    '',
    '- next delivery in 5 ms',
    '- this run: 3 looks, 3 delivered, 1 put off',
    `- last error: 2026-01-02T03:04:05.000Z: refused ${'x'.repeat(492)}`,
  ]);
});
