// Builds the console into `dist`. With `--when-stale` it does so only where it has to, at the lowest priority, silently, and gives up
// when its parent is gone.
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { build, buildWhenStale, type BuildOptions } from './build-console.ts';

const isBeside = process.argv.includes('--when-stale');
const root = join(import.meta.dirname, '..');
const stop = new AbortController();

// Somebody's NODE_ENV would make it a build for development, which is larger and slower.
process.env['NODE_ENV'] = 'production';
if (isBeside) setPriority(constants.priority.PRIORITY_LOW);

const options: BuildOptions = {
  root,
  folder: join(root, 'dist'),
  make: async (made) => {
    // Loaded only now: most starts find a build that is fresh.
    const vite = await import('vite');
    await vite.build({
      root,
      configFile: join(root, 'vite.config.ts'),
      configLoader: 'native',
      logLevel: isBeside ? 'silent' : 'warn',
      build: { outDir: made, emptyOutDir: false },
    });
  },
  onBegin: () => {
    if (isBeside) process.send?.('building');
    else console.log('Building the console …');
  },
  signal: stop.signal,
};

const giveUp = () => stop.abort(new Error('The build was given up.'));
for (const cause of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(cause, giveUp);
let exitCode = 0;
try {
  const result = isBeside ? await buildWhenStale(options) : await build(options);
  if (!isBeside) console.log(result === 'built' ? 'Built.' : 'Another process is building it.');
} catch (error) {
  exitCode = 1;
  if (!isBeside) console.error(error);
}
// Ends the process, because a build that was given up still runs.
process.exit(exitCode);
