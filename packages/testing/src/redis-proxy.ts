import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** A proxy in front of a Redis, which a test can make unreliable. */
export interface RedisProxy {
  url: string;
  /** From now on, cuts the connection instead of every n-th reply: the command ran, its reply is lost. 0 stops it. */
  loseEvery(replies: number): void;
  /** Cuts the connection instead of the reply to the next command that contains the text: it ran, its reply is lost. */
  loseReplyTo(text: string): void;
  /** Cuts every connection. New ones are accepted. */
  cut(): void;
  /** From now on, holds back every reply, as a store that stalls does. Commands still run. */
  silence(): void;
  /** Sends the replies that were held back, in order. */
  speak(): void;
  /**
   * Loses the path without a word, as a firewall that drops packets does: connections stay open, those of today and those
   * that are made from now on, and every byte on them is swallowed in both directions. They stay dead for ever.
   */
  losePath(): void;
  /** Makes the path usable again, for connections that are made from now on. */
  restorePath(): void;
  /** From now on, new connections lead to the Redis at this address, as after a failover. The others stay. */
  leadTo(url: string): void;
  /** Resets every connection, and every new one, until `mend`. */
  refuse(): void;
  /** Lets connections through again. */
  mend(): void;
  /** From now on, `hear` gets each piece of what clients send. */
  onRequest(hear: (data: Buffer) => void): void;
  /** Replies lost so far. */
  readonly lost: number;
  /** Ends every connection and accepts no more. May be called twice. */
  stop(): Promise<void>;
}

/**
 * Starts a proxy in front of the Redis at `url`. With `delayMs`, each piece of data takes that much longer in each
 * direction.
 *
 * It counts chunks of bytes from the server as replies. That is correct for a client that waits for each reply before
 * it sends the next command.
 */
export async function startRedisProxy(
  url: string,
  { delayMs = 0 }: { delayMs?: number } = {},
): Promise<RedisProxy> {
  const state: ProxyState = {
    delayMs,
    target: new URL(url),
    sockets: new Set(),
    every: 0,
    seen: 0,
    lost: 0,
    heldBack: undefined,
    textToLose: undefined,
    path: { isLost: false },
    isRefusing: false,
    hear: () => undefined,
  };
  const server = createServer({ allowHalfOpen }, (downstream) => pipe(state, downstream));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(url);
  // The address of a TCP server that listens is of this type.
  proxied.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  let stopping: Promise<void> | undefined;
  const cut = () => {
    for (const socket of state.sockets) socket.destroy();
  };
  const stop = () => {
    cut();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  };
  return {
    url: proxied.href,
    get lost() {
      return state.lost;
    },
    loseEvery(replies) {
      state.every = replies;
      state.seen = 0;
    },
    loseReplyTo(text) {
      state.textToLose = text;
    },
    cut,
    silence() {
      state.heldBack ??= [];
    },
    speak() {
      const held = state.heldBack ?? [];
      state.heldBack = undefined;
      for (const send of held) send();
    },
    losePath() {
      state.path.isLost = true;
    },
    restorePath() {
      state.path = { isLost: false };
    },
    leadTo(next) {
      state.target = new URL(next);
    },
    onRequest(hear) {
      state.hear = hear;
    },
    refuse() {
      state.isRefusing = true;
      for (const socket of state.sockets) socket.resetAndDestroy();
    },
    mend() {
      state.isRefusing = false;
    },
    stop: () => (stopping ??= stop()),
  };
}

/** A half-closed connection is closed by hand, so that nobody is told of it on a lost path. */
const allowHalfOpen = true;

interface ProxyState {
  readonly delayMs: number;
  target: URL;
  readonly sockets: Set<Socket>;
  /** Cuts the connection instead of every n-th reply; 0 never does. */
  every: number;
  /** Replies since that began. */
  seen: number;
  lost: number;
  /** Replies that are held back; undefined while none are. */
  heldBack: (() => void)[] | undefined;
  textToLose: string | undefined;
  /** The path of new connections. */
  path: { isLost: boolean };
  isRefusing: boolean;
  hear: (data: Buffer) => void;
}

/** Connects a client to the Redis behind the proxy. */
function pipe(state: ProxyState, downstream: Socket): void {
  if (state.isRefusing) {
    downstream.resetAndDestroy();
    return;
  }
  const { path, delayMs, sockets } = state;
  const { hostname: host, port } = state.target;
  const upstream = connect({ host, port: Number(port || 6379), allowHalfOpen });
  const ends = [downstream, upstream];
  for (const socket of ends) {
    socket.on('end', () => {
      if (path.isLost) return;
      for (const end of ends) end.end();
    });
    sockets.add(socket);
    socket.on('error', () => undefined); // The test cuts connections on purpose.
    socket.on('close', () => {
      sockets.delete(socket);
      // On a lost path neither end learns that the other one has gone.
      if (path.isLost) return;
      for (const end of ends) end.destroy();
    });
  }
  const later = (send: () => void) => {
    if (delayMs === 0) send();
    else setTimeout(send, delayMs);
  };
  let mustLose = false;
  downstream.on('data', (data) => {
    if (path.isLost) return;
    state.hear(data);
    if (state.textToLose !== undefined && data.includes(state.textToLose)) {
      state.textToLose = undefined;
      mustLose = true;
    }
    later(() => upstream.write(data));
  });
  upstream.on('data', (data) => {
    if (path.isLost) return;
    state.seen += 1;
    if (mustLose || (state.every > 0 && state.seen % state.every === 0)) {
      state.lost += 1;
      downstream.destroy();
    } else if (state.heldBack) {
      state.heldBack.push(() => downstream.write(data));
    } else {
      later(() => downstream.write(data));
    }
  });
}
