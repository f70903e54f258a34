/** The service that Restate calls. The call of the upstream is a step of its own, whose result is kept before the answer goes out. */
import { createServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';
import { callUpstream } from '../../upstream/call-upstream.ts';
import { importInstalled, readPeerPlace } from '../peer-place.ts';

interface Context {
  run<Result>(name: string, step: () => Promise<Result>): Promise<Result>;
}

interface RestateSdk {
  service: (definition: {
    name: string;
    handlers: Record<string, (context: Context, input: { prompt: string }) => Promise<object>>;
  }) => object;
  createEndpointHandler: (options: {
    services: object[];
  }) => (request: Http2ServerRequest, response: Http2ServerResponse) => void;
}

const place = readPeerPlace(process.env);
const upstream = new Pool(place.upstreamUrl, { connections: place.slots });
const { service, createEndpointHandler } = await importInstalled<RestateSdk>(
  place,
  '@restatedev/restate-sdk/dist/index.js',
);
const bench = service({
  name: 'bench',
  handlers: {
    generate: async (context, { prompt }) => ({
      output_text: await context.run('call the upstream', () => callUpstream(upstream, prompt)),
    }),
  },
});

const server = createServer(createEndpointHandler({ services: [bench] }));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo; // it listens on a port, not on a pipe
  process.send?.({ url: `http://127.0.0.1:${port}` });
});

process.once('SIGTERM', () => {
  void (async () => {
    server.close();
    await upstream.close();
    process.disconnect();
  })();
});
