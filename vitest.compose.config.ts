import { defineConfig } from 'vitest/config';

const conditions = ['sluice-source', 'node', 'import', 'module', 'default'];

/** The tests of `npm run test:compose`. They build an image, which `npm run test:system` has no time for. */
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  // Where the global setup runs: it may come before anything is built.
  environments: { __vitest__: { resolve: { conditions } } },
  test: {
    name: 'compose',
    include: ['packages/system-tests/compose/*.test.ts'],
    globalSetup: 'packages/system-tests/compose/image-for-the-run.ts',
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A project of compose is six processes.
    maxWorkers: 1,
  },
});
