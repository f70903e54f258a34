import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Most requests of a connection that are served or wait at a time. */
const mostOfConnection = 16;

interface Turns {
  /** Those that wait for the answer of the one before them. */
  waiting: (() => void)[];
  /** Whether there are so many that the connection closes behind them. */
  isFull: boolean;
}

/** Connections with a request that is not answered yet. */
const busy = new WeakMap<Socket, Turns>();

/** Whether a connection has a request that is not answered yet. */
export function isBusy(socket: Socket): boolean {
  return busy.has(socket);
}

/**
 * Serves the requests of a connection one after the other, each in a turn of its own of the event loop. Node serves all that are in
 * a chunk at once, and that can be thousands: their client would hold up all others.
 *
 * With too many of them at a time the connection is closed behind the last that it may have.
 */
export function serveInTurn(server: Server): void {
  const serving = server.listeners('request');
  const serve = (request: IncomingMessage, response: ServerResponse) => {
    for (const listener of serving) listener.call(server, request, response);
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    const turns = busy.get(socket);
    response.once('close', () => endTurn(socket));
    if (!turns) {
      busy.set(socket, { waiting: [], isFull: false });
      serve(request, response);
      return;
    }
    turns.waiting.push(() => serve(request, response));
    if (turns.waiting.length < mostOfConnection - 1) return;
    response.shouldKeepAlive = false;
    turns.isFull = true;
    readNoFurther(socket);
  });
}

function endTurn(socket: Socket): void {
  const turns = busy.get(socket);
  // An answer lets its connection flow.
  if (turns?.isFull) socket.pause();
  const next = turns?.waiting.shift();
  if (!next || socket.destroyed) busy.delete(socket);
  else {
    setImmediate(() => {
      if (!socket.destroyed) next();
    });
  }
}

/**
 * Reads nothing more of a connection, and makes its parser leave the rest of what was read as it is. Node has no way to say that; this is the
 * answer by which its own listener stops the parser at an upgrade.
 */
function readNoFurther(socket: Socket): void {
  const stopAtNext = 2;
  const { parser } = socket as Socket & { parser?: { onIncoming: () => number } }; // as Node's http makes it
  if (parser) parser.onIncoming = () => stopAtNext;
  socket.pause();
}
