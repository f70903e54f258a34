// Tells its parent that it runs, and tells it again when the parent has closed the channel.
import { tellParent } from '../../src/tell-parent.ts';

process.on('disconnect', () => {
  tellParent({ is: 'too late' });
  setImmediate(() => console.log('went on'));
});
tellParent({ is: 'running' });
