import type { Client } from '../../client';

/** Buttons of pages: where, which, what the dry run says, and what has become of it. */
export interface Click {
  place: string;
  title: string;
  label: string;
  /** Of which parts of the page the button is. */
  within?: string;
  now: RegExp;
  done: string;
  given?: Record<string, string>;
  /** Returns what is read before the click, and compared afterwards. */
  before?: () => Promise<unknown>;
  came: (before: unknown) => Promise<boolean>;
}
export const clicksOf = (client: Client): readonly Click[] => {
  const target = async () => (await client.targets('thumbnails')).find(({ key }) => key === 'eu-1')!;
  const handlerOf = async (name: string) => (await client.status(name))[0]!;
  const batchOf = async (id: string) => (await client.getTask(id))?.batch ?? null;

  const state = async (id: string) => (await client.getTask(id))?.state;
  const pinned = async () => (await client.partitions({ handler: 'fleet' }))[0]!.pinnedTo;
  return [
    {
      ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Pause', done: 'Paused.' },
      ...{ now: /^Now: 37 tasks waiting, 0 in open batches, not paused\.$/, given: { reason: 'the disk is full' } },
      came: async () => (await target()).paused?.reason === 'the disk is full',
    },
    {
      ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Resume', done: 'Resumed.' },
      ...{ now: /paused \(the disk is full\)\.$/, came: async () => (await target()).paused === null },
    },
    {
      ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Set a limit' },
      ...{ now: /^Now: rate none, concurrency\.perTarget /, done: 'concurrency.perTarget: ' },
      given: { limit: 'concurrency.perTarget', value: '2', forMs: '600000' },
      came: async () => {
        const { limits } = await client.limits.get('thumbnails', { target: 'eu-1' });
        const one = limits.find(({ limit }) => limit === 'concurrency.perTarget')!;
        return one.inForce === 2 && one.set?.until != null;
      },
    },
    {
      ...{ place: '#/handlers/thumbnails/targets/eu-1', title: 'eu-1', label: 'Remove limits' },
      ...{ now: /concurrency\.perTarget 2 \(set\)/, done: 'concurrency.perTarget: 2, now ' },
      came: async () =>
        (await client.limits.get('thumbnails', { target: 'eu-1' })).limits.every(({ set }) => set === null),
    },
    {
      ...{ place: '#/handlers/thumbnails', title: 'thumbnails', label: 'Set a limit', now: /^Now: rate none, / },
      ...{ given: { limit: 'items', value: '600', seconds: '60' }, done: 'rate: none, now 600 items per 60 s' },
      came: async () => (await handlerOf('thumbnails')).limitsSet.some(({ limit }) => limit === 'rate'),
    },
    {
      ...{ place: '#/handlers/thumbnails', title: 'thumbnails', label: 'Remove limits', now: /600 items .*\(set\)/ },
      ...{ done: 'rate: ', came: async () => (await handlerOf('thumbnails')).limitsSet.length === 0 },
    },
    {
      ...{ place: '#/handlers/mail', title: 'mail', label: 'Set shared limit', now: /^Now: rate 50 calls per 1 s/ },
      ...{ given: { limit: 'concurrency', value: '2' }, done: 'concurrency: 8, now 2.' },
      came: async () =>
        (await client.sharedLimits.get('smtp-key')).limits.find(({ limit }) => limit === 'concurrency')!.inForce === 2,
    },
    {
      ...{ place: '#/handlers/mail', title: 'mail', label: 'Remove what is set', now: /concurrency 2 \(set\)/ },
      done: 'concurrency: 2, now 8.',
      came: async () => (await client.sharedLimits.get('smtp-key')).limits.every(({ set }) => set === null),
    },
    {
      ...{ place: '#/tasks/dead-1', title: 'dead-1', label: 'Redrive', now: /^Now: 1 dead\.$/, done: '1 task waits' },
      before: () => batchOf('dead-1'),
      came: async (before) => (await state('dead-1')) === 'dead' && (await batchOf('dead-1')) !== before,
    },
    {
      ...{ place: '#/tasks/charge-1', title: 'charge-1', label: 'Send again', now: /^Now: 1 unknown\.$/ },
      ...{ done: '1 task resolved.', before: () => batchOf('charge-1') },
      came: async (before) => (await state('charge-1')) === 'unknown' && (await batchOf('charge-1')) !== before,
    },
    {
      ...{
        place: '#/lanes/po-17',
        title: 'po-17',
        label: 'Set weight',
        now: /^Now: halted by batch \d+, .*weight 1\.$/,
      },
      ...{ given: { weight: '5' }, done: 'Done.', came: async () => (await client.lane('po-17')).weight === 5 },
    },
    {
      ...{
        place: '#/lanes/po-18',
        title: 'po-18',
        label: 'It was applied',
        now: /^Now: halted by batch /,
        done: 'Done.',
      },
      came: async () => (await state('lost-applied')) === 'succeeded' && (await state('then-applied')) === 'succeeded',
    },
    {
      ...{ place: '#/lanes/po-19', title: 'po-19', label: 'Send again', now: /^Now: halted by batch /, done: 'Done.' },
      before: async () => (await client.lane('po-19', { batches: 1 })).batches[0]!.attempts,
      came: async (before) => (await client.lane('po-19', { batches: 1 })).batches[0]!.attempts > Number(before),
    },
    {
      ...{
        place: '#/nodes',
        title: 'Nodes',
        label: 'Move',
        within: '.map',
        now: /^Now: held by .*, not pinned, 0 calls/,
      },
      ...{ done: 'The balancer was told.', came: async () => (await pinned()) !== null },
    },
    {
      ...{ place: '#/', title: 'Overview', label: 'Resume', within: '.findings', done: 'Resumed.' },
      ...{
        now: /^Now: 150 tasks waiting, .*paused \(the SMTP host/,
        came: async () => (await handlerOf('mail')).paused === null,
      },
    },
  ];
};
