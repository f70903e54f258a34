import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Node itself loads the sources, as it does wherever they run without a build: it takes the types away, and compiles a file once for all
// processes. Transforms and the modules of a runner took half of the processor time of the unit tests and a sixth of that of the others.
const fromSource = {
  execArgv: ['--conditions=sluice-source'],
  experimental: { viteModuleRunner: false },
};
const redis = ['packages/testing/src/redis-for-the-run.ts'];

// Tests start threads and processes from source, hundreds of them. Each takes what it imports from here, compiled and without types.
process.env['NODE_COMPILE_CACHE'] ??= fileURLToPath(new URL('node_modules/.compile-cache', import.meta.url));

/** Files that are short and take long. A fresh clone knows no times and begins with the largest files, so these would end alone. */
const longest = new Set(
  `simulation quick-run redis-topology upstream-pressure lost-replies stored-bytes durability-replica faults
  large-answers large-contexts long-waits rolling-restart two-releases poison cells-change backup delivery-resume
  keys-command redis-cluster redis-commands redis-path settings-changes sizes upstream-neighbours websockets
  console-pages start-command cells console-shell readme-walk prometheus cell-watch downloads worker`.split(
    /\s+/,
  ),
);

/** Whether the tests run once more, on the store of a machine that has no server. */
const isEmbedded = process.env['SLUICE_TEST_STORE'] === 'embedded';

/** Those to which it makes no difference what their store is, that have none, or that start servers themselves. They run with a server alone. */
const ofAnyStore = [
  'packages/{simulation,embedded-store,files,providers,bench}/**',
  'packages/runtime/test/{lifecycle,redis-roles,redis-topology,redis-watch,require-redis,tell-parent}.test.ts',
  'packages/usage/test/open-database.test.ts',
  'packages/wiring/test/{cell-watch,joined-cell}.test.ts',
  'packages/operator/test/index-memory.test.ts',
  'apps/sluice/test/doctor.test.ts',
  'apps/worker/test/{json-checks,server-choices,servers,start-without-redis,told-reason,upstream-health,upstream-pressure}.test.ts',
  'apps/api/test/{admin-acting-gate,admin-app,admin-fuzz,admin-playground,api-reference,authentication,bad-input}.test.ts',
  'apps/api/test/{broken-requests,cross-origin,downloads,durability-replica,input-tokens,json-threads,lease-thread,media-urls,messages,overview}.test.ts',
  'apps/api/test/{refused-bodies,slow-reader,start-without-redis,stored-bytes,unread-answers,waiting-memory,websocket}.test.ts',
];

/** Begins with the files that take longest, as far as they are known, so that all workers of a group end at about the same time. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- It is a method of the sequencer.
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => longest.has(basename(moduleId, '.test.ts'));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// Importing everything anew for each file takes half of the unit tests and a tenth of the others. So the files of a worker share their
// modules in every project: a file undoes its own stubs, and a module that several files import registers no hook of its own.
// The time-outs are there for what hangs. They measure nothing: a machine that does much else may need a minute for what takes a second.
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...fromSource,
          name: 'unit',
          include: ['{apps,packages}/*/src/**/*.test.ts', 'apps/{console,sluice}/build/**/*.test.ts'],
          exclude: ['packages/system-tests/**'],
          testTimeout: 60_000,
          // Behind the integration tests, whose workers take these as they become free.
          maxWorkers: 5,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...fromSource,
          name: 'integration',
          include: ['{apps,packages}/*/test/**/*.test.ts'],
          ...(isEmbedded && { exclude: ofAnyStore }),
          globalSetup: redis,
          testTimeout: 180_000,
          hookTimeout: 180_000,
          // These tests wait for locks to lapse and for connections to be given up: three of them leave a third of two cores idle.
          // With the embedded store they compute less, and nothing else runs.
          maxWorkers: isEmbedded ? 7 : 5,
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...fromSource,
          name: 'system',
          include: ['packages/system-tests/src/**/*.test.ts'],
          globalSetup: ['packages/testing/src/bundle-for-the-run.ts', ...redis],
          testTimeout: 300_000,
          hookTimeout: 300_000,
          // Four at a time keep two cores busy. Five may starve their stores, which then count as silent.
          maxWorkers: 4,
          isolate: false,
          // Behind the others, which are enough for the machine.
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
