import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Takes exports of spans and counts what they hold, without reading it. */
export interface SpanReceiver {
  url: string;
  exports: () => number;
  bytes: () => number;
  close: () => Promise<void>;
}

export async function startSpanReceiver(): Promise<SpanReceiver> {
  let exports = 0;
  let bytes = 0;
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    for await (const chunk of request) bytes += (chunk as Buffer).length; // No encoding is set.
    exports += 1;
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  };
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}`,
    exports: () => exports,
    bytes: () => bytes,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
