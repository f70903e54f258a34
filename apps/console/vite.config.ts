import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { mantineStyles } from './build/mantine-styles.ts';
import { mantineVariables } from './build/mantine-variables.ts';
import { precompress } from './build/precompress.ts';
import { singleIcons } from './build/single-icons.ts';

/** The admin listener that `npm run dev` speaks to: that of `npm start` unless the environment names another. */
const adminUrl = process.env['ADMIN_URL'] ?? 'http://127.0.0.1:3001';

export default defineConfig({
  base: '/console/',
  plugins: [singleIcons(), react(), mantineStyles(), mantineVariables(), precompress()],
  server: {
    proxy: {
      // The listener refuses requests from pages of another origin, and this is one.
      '/admin/v1': { target: adminUrl, changeOrigin: true, headers: { origin: new URL(adminUrl).origin } },
    },
  },
  resolve: { conditions: ['sluice-source', 'browser', 'module', 'import', 'default'] },
  build: {
    target: 'es2023',
    // Nothing inline: the policy of the page allows no `data:` but images.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Few files: a browser has six connections to a server, and dozens of small ones arrive later than a few larger ones.
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: 'first', tags: ['$initial'], priority: 1 },
            { name: 'shared', minShareCount: 2 },
          ],
        },
      },
    },
    // The bundled packages with their licences, for the bill of materials of an image. The file is not served.
    license: { fileName: 'licenses.json' },
    // In kB, before compression; `built-output.test.ts` bounds the bytes that are sent.
    chunkSizeWarningLimit: 1_000,
  },
});
