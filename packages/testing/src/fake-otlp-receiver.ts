import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { eventually, type WaitOptions } from './wait-until.ts';

/** A span as a receiver of OTLP gets it, with its attributes as an object. */
export interface ReceivedSpan {
  traceId: string;
  spanId: string;
  /** Empty for the first of a trace. */
  parentSpanId: string;
  name: string;
  /** 1 internal, 2 server, 3 client. */
  kind: number;
  /** Milliseconds since 1970. */
  startedAt: number;
  endedAt: number;
  attributes: Record<string, unknown>;
  links: { traceId: string; spanId: string }[];
  /** 0 unset, 2 error. */
  status: number;
  /** `service.name` of the process that sent it. */
  service: string;
}

export interface FakeOtlpReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`, with `http/json` as the protocol. */
  url: string;
  spans: ReceivedSpan[];
  /** Everything that has been received, headers included, as it came. */
  texts: string[];
  /** How each export is answered from now on: by a status, or never. */
  answerWith: (answer: number | 'nothing') => void;
  /** Waits until as many spans as that are of this name, and returns them. */
  named: (name: string, count?: number, options?: WaitOptions) => Promise<ReceivedSpan[]>;
  close: () => Promise<void>;
  [Symbol.asyncDispose]: () => Promise<void>;
}

/** Starts a receiver of spans over OTLP, as JSON, on a free port of 127.0.0.1. */
export async function startFakeOtlpReceiver(): Promise<FakeOtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const sockets = new Set<Socket>();
  let answer: number | 'nothing' = 200;
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const isGzip = request.headers['content-encoding'] === 'gzip';
    const body = await text(isGzip ? request.pipe(createGunzip()) : request);
    texts.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)}\n${body}`);
    if (answer === 'nothing') return;
    if (answer === 200) spans.push(...spansOf(body));
    response.writeHead(answer, { 'content-type': 'application/json' }).end('{}');
  };
  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo; // It listens on a port.
  const close = async () => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    texts,
    answerWith: (next) => (answer = next),
    named: (name, count = 1, options) =>
      eventually(() => {
        const found = spans.filter((span) => span.name === name);
        return found.length >= count && found;
      }, options),
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** What is read of the JSON of OTLP. */
interface ExportRequest {
  resourceSpans?: {
    resource?: { attributes?: Attribute[] };
    scopeSpans?: { spans?: WireSpan[] }[];
  }[];
}
interface WireSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: Attribute[];
  links?: { traceId: string; spanId: string }[];
  status?: { code?: number };
}
interface Attribute {
  key: string;
  value: Record<string, unknown>;
}

function spansOf(body: string): ReceivedSpan[] {
  const { resourceSpans = [] } = JSON.parse(body) as ExportRequest; // A test fails where it is not that.
  return resourceSpans.flatMap(({ resource, scopeSpans = [] }) => {
    const service = String(valuesOf(resource?.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans = [] }) => spans.map((span) => received(span, service)));
  });
}

function received(span: WireSpan, service: string): ReceivedSpan {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    name: span.name,
    kind: span.kind,
    startedAt: Number(BigInt(span.startTimeUnixNano) / 1_000n) / 1_000,
    endedAt: Number(BigInt(span.endTimeUnixNano) / 1_000n) / 1_000,
    attributes: valuesOf(span.attributes),
    links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
    status: span.status?.code ?? 0,
    service,
  };
}

function valuesOf(attributes: readonly Attribute[] = []): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Record<string, unknown>): unknown {
  if (typeof value['arrayValue'] === 'object' && value['arrayValue'] !== null) {
    const { values = [] } = value['arrayValue'] as { values?: Record<string, unknown>[] }; // By its name.
    return values.map((each) => valueOf(each));
  }
  const [only] = Object.values(value);
  return 'intValue' in value ? Number(only) : only;
}
