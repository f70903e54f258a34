import { defineConfig } from 'vitest/config';

const conditions = ['sluice-source', 'node', 'import', 'module', 'default'];

// Not a project of the workspace's configuration: these tests need the packages of `clients`, which only
// `npm run test:clients` installs.
export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    name: 'clients',
    root: import.meta.dirname,
    include: ['clients/**/*.test.ts'],
    globalSetup: ['../testing/src/bundle-for-the-run.ts', '../testing/src/redis-for-the-run.ts'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    // They wait more than they compute: three of them leave half of two cores idle.
    maxWorkers: 5,
  },
});
