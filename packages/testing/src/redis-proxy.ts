import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy in front of a Redis, which a test can make unreliable. */
export interface RedisProxy {
  url: string;
  /** From now on, cuts the connection instead of every n-th reply: the command ran, its reply is lost. 0 stops it. */
  loseEvery(replies: number): void;
  /** From now on, holds back every reply, as a store that stalls does. Commands still run. */
  silence(): void;
  /** Sends the replies that were held back, in order. */
  speak(): void;
  /** Replies lost so far. */
  lost: number;
  /** Ends every connection and accepts no more. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of the Redis at `url`.
 *
 * It counts chunks of bytes from the server as replies. That is correct for a client that waits for each reply before
 * it sends the next command.
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
      socket.on('error', () => undefined); // The test cuts connections on purpose.
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
  // The address of a TCP server that listens is of this type.
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
