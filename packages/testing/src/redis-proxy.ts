import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A way to a Redis that a test can make unreliable. */
export interface RedisProxy {
  url: string;
  /** Cuts the connection in place of every n-th reply from now on: the command ran, and nobody hears of it. 0: none. */
  loseEvery(replies: number): void;
  /** Holds back every reply from now on, as a store that is stalled does. The commands run. */
  silence(): void;
  /** Lets go of what was held back, in order. */
  speak(): void;
  /** Replies lost so far. */
  lost: number;
  /** Ends every connection and takes no more. Twice is fine. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of the Redis at `url`.
 *
 * Counts chunks of the server's bytes as replies, which holds for a client that waits for one reply before it
 * sends the next command.
 */
export async function startRedisProxy(url: string): Promise<RedisProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let every = 0;
  let seen = 0;
  let heldBack: (() => void)[] | undefined;
  const server = createServer((downstream) => {
    const upstream = connect(Number(target.port || 6379), target.hostname);
    const ends = [downstream, upstream];
    for (const socket of ends) {
      sockets.add(socket);
      socket.on('error', () => undefined); // Cut on purpose.
      socket.on('close', () => {
        sockets.delete(socket);
        for (const end of ends) end.destroy();
      });
    }
    downstream.on('data', (data) => upstream.write(data));
    upstream.on('data', (data) => {
      seen += 1;
      if (every > 0 && seen % every === 0) {
        proxy.lost += 1;
        downstream.destroy();
      } else if (heldBack) {
        heldBack.push(() => downstream.write(data));
      } else {
        downstream.write(data);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(url);
  // A TCP server that listens has such an address.
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  let stopping: Promise<void> | undefined;
  const stop = () => {
    for (const socket of sockets) socket.destroy();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const proxy: RedisProxy = {
    url: proxied.href,
    lost: 0,
    loseEvery(replies) {
      every = replies;
      seen = 0;
    },
    silence() {
      heldBack ??= [];
    },
    speak() {
      const held = heldBack ?? [];
      heldBack = undefined;
      for (const send of held) send();
    },
    stop: () => (stopping ??= stop()),
  };
  return proxy;
}
