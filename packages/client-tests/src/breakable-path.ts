import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A way to the service that breaks where a test says so. Until then it passes requests and answers on as they are. */
export interface BreakablePath {
  /** Its address, without a mount. */
  url: string;
  /** The statuses of the service's answers so far, with those of answers that were lost. */
  statuses: number[];
  /** Breaks the connection in place of the next answer: the service has answered, and the caller hears nothing. */
  loseAnswer: () => void;
  /** Breaks the connection on which the text comes next, after the event of the stream that has it. */
  breakAfter: (text: string) => void;
  close: () => Promise<void>;
}

/** Starts a path to the service at `target` on a free port of 127.0.0.1. */
export async function startBreakablePath(target: string): Promise<BreakablePath> {
  const path: PathState = { target, statuses: [], isNextLost: false, lastText: undefined };
  const server = createServer((incoming, answer) => passOn(path, incoming, answer));
  await new Promise<void>((listening) => {
    server.listen(0, '127.0.0.1', listening);
  });
  const { port } = server.address() as AddressInfo; // of a TCP server, which has one
  return {
    url: `http://127.0.0.1:${port}`,
    statuses: path.statuses,
    loseAnswer() {
      path.isNextLost = true;
    },
    breakAfter(text) {
      path.lastText = text;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => {
        server.close(closed);
      });
    },
  };
}

interface PathState {
  readonly target: string;
  readonly statuses: number[];
  isNextLost: boolean;
  /** The text after whose event a connection breaks; undefined while none does. */
  lastText: string | undefined;
}

function passOn(path: PathState, incoming: IncomingMessage, answer: ServerResponse): void {
  const { method, headers, url = '' } = incoming;
  const outgoing = request(new URL(url, path.target), { method, headers, agent: false });
  // One end that breaks is the end of the other one.
  outgoing.on('error', () => answer.destroy());
  answer.on('close', () => outgoing.destroy());
  outgoing.on('response', (answered) => {
    path.statuses.push(answered.statusCode ?? 0);
    if (path.isNextLost) {
      path.isNextLost = false;
      answer.destroy();
      return;
    }
    answer.writeHead(answered.statusCode ?? 0, answered.headers);
    answer.flushHeaders();
    passBody(path, answered, answer);
  });
  incoming.pipe(outgoing);
}

/** Passes a body on, up to the end of the event that has the text after which the connection breaks. */
function passBody(path: PathState, answered: IncomingMessage, answer: ServerResponse): void {
  let passed = '';
  answered.setEncoding('utf8');
  answered.on('error', () => answer.destroy());
  answered.on('end', () => answer.end());
  answered.on('data', (data: string) => {
    const said = path.lastText === undefined ? -1 : (passed + data).indexOf(path.lastText);
    const end = said < 0 ? -1 : (passed + data).indexOf('\n\n', said);
    if (end < 0) {
      passed += data;
      answer.write(data);
      return;
    }
    path.lastText = undefined;
    answered.pause();
    // Gone once the kernel has it, so that the caller reads the event before the connection ends.
    answer.write((passed + data).slice(passed.length, end + 2), () => answer.destroy());
  });
}
