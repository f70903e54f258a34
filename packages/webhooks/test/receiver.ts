import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedEvent {
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** An endpoint on this machine. `answer` decides what it says; without one it says 204. */
export async function startReceiver(
  answer: (
    received: ReceivedEvent,
  ) => { status: number; headers?: Record<string, string> } | Promise<never> = () => ({
    status: 204,
  }),
) {
  const received: ReceivedEvent[] = [];
  const server = createServer((request, reply) => {
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      const event = { path: request.url ?? '', headers: request.headers, body };
      received.push(event);
      const said = answer(event);
      // An endpoint that is silent never says anything.
      if (said instanceof Promise) return;
      reply.writeHead(said.status, said.headers).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  return {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
