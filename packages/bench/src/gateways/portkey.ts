import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Gateway } from './gateway.ts';

const version = '1.15.2';

/** The last one under which it can answer a stream: https://github.com/Portkey-AI/gateway/issues/1389. */
const lastServer = '1.13.8';

/** Portkey's gateway, in TypeScript on Node. A request says by its headers where it goes. */
export const portkey: Gateway = {
  name: 'portkey',
  version,
  async install(folder, run) {
    const manifest = {
      private: true,
      dependencies: { '@portkey-ai/gateway': version },
      overrides: { '@hono/node-server': lastServer },
    };
    await writeFile(join(folder, 'package.json'), JSON.stringify(manifest));
    const args = ['install', `--prefix=${folder}`, '--no-audit', '--no-fund', '--ignore-scripts'];
    await run({ file: 'npm', args });
  },
  serve: ({ folder, port }) =>
    Promise.resolve({
      file: process.execPath,
      args: [
        join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
        '--headless',
        `--port=${port}`,
      ],
    }),
  headers: (upstreamUrl) => ({
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstreamUrl}/v1`,
    authorization: 'Bearer of-the-benchmark',
  }),
};
