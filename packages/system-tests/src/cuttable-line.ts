import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy in front of an api. A test can cut its connections. */
export interface CuttableLine {
  url: string;
  /** Resets every connection that is open now. New connections work. */
  cut: () => void;
  close: () => Promise<void>;
}

/** Starts a TCP proxy on a free port of 127.0.0.1 in front of an address. */
export async function startCuttableLine(url: string): Promise<CuttableLine> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer((downstream) => {
    const upstream = connect(Number(port), hostname);
    for (const socket of [downstream, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined); // The test cuts connections on purpose.
      socket.on('close', () => {
        sockets.delete(socket);
        downstream.destroy();
        upstream.destroy();
      });
    }
    downstream.pipe(upstream);
    upstream.pipe(downstream);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as AddressInfo; // the server listens on a port
  const cut = () => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
    },
  };
}
