import { join } from 'node:path';
import { installPackages } from '../installs.ts';
import type { Gateway } from './gateway.ts';

const version = '1.15.2';

/** The last one under which it can answer a stream: https://github.com/Portkey-AI/gateway/issues/1389. */
const lastServer = '1.13.8';

/** Portkey's gateway, in TypeScript on Node. A request says by its headers where it goes. */
export const portkey: Gateway = {
  name: 'portkey',
  version,
  install: (folder, run) =>
    installPackages(folder, run, {
      dependencies: { '@portkey-ai/gateway': version },
      overrides: { '@hono/node-server': lastServer },
    }),
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
