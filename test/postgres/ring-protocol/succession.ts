import type { Scene } from './scene';
import { Death } from './death';

/** A run that is gone left the end of its last turn undone: the run that follows does it. */

/**
 * The first claim that empties a target's queue without cutting a batch: its process dies after the
 * commit, with its workflow.
 */
const succession: Scene = {
  name: 'a new run runs R1 on the targets that the last run touched',
  without: {
    rewrite: (name, text) =>
      name.startsWith('lock-leader') ? text.replace('l.answer', 'null::jsonb as answer') : text,
  },
  catches: 'lost',
  fate: (stage) => {
    let died = false;
    return {
      after: async (party, { name, transaction }) => {
        if (party !== 'leader' || name !== 'commit' || died || transaction?.includes('update-targets') !== true) return;
        died = true;
        const { world, wake } = stage();
        world.terminate(1);
        const next = world.hold('leader', 'before', 'is-due-earlier');
        await wake();
        await next.reached;
        next.open();
        throw new Death('after the commit of a claim');
      },
    };
  },
  play: async (stage) => {
    const { world } = stage;
    const locking = world.hold('leader', 'before', 'lock-due-targets');
    await stage.submit('a', 'first');
    await locking.reached;
    await world.client.cancel(['first']);
    const writing = world.hold('leader', 'before', 'update-targets');
    locking.open();
    await writing.reached;
    await stage.submit('a', 'second'); // the target is due already and its leader works: the ring changes nothing
    writing.open();
  },
};

export const successionScenes: Scene[] = [succession];
