import type { RequestTrace, Telemetry, TraceContext } from '@sluice/runtime';
import { BoundedMap } from './bounded-map.ts';
import { names } from './conventions.ts';
import type { SpanAttributes, SpanSink } from './finished-span.ts';

/** Most unanswered requests about which facts are kept. An api has fewer at a time. */
const mostRequests = 20_000;

interface Known {
  attributes: SpanAttributes;
  links?: TraceContext[];
}

/** Makes a span of each request that is answered, and of each turn of a WebSocket. `now` is in milliseconds since 1970. */
export function traceRequests(telemetry: Telemetry, sink: SpanSink, now: () => number): void {
  const known = new BoundedMap<string, Known>(mostRequests);
  telemetry.on('response.accepted', ({ trace, responseId, tenant, model, tier, mode }) => {
    if (!trace?.isSampled) return;
    const attributes: SpanAttributes = [
      [names.responseId, responseId],
      [names.tenant, tenant],
      [names.model, model],
      [names.tier, tier],
      [names.mode, mode],
    ];
    known.set(trace.spanId, { attributes });
  });
  telemetry.on('response.resumed', ({ trace, responseId, origin }) => {
    if (!trace?.isSampled) return;
    known.set(trace.spanId, {
      attributes: [[names.responseId, responseId]],
      ...(origin && { links: [origin] }),
    });
  });
  const add = (trace: RequestTrace, elapsedMs: number, span: OfRequest) => {
    const { attributes, links } = known.take(trace.spanId) ?? {};
    const endedAt = now();
    sink({
      name: span.name,
      kind: 'server',
      context: trace,
      parentSpanId: trace.parentSpanId,
      startedAt: endedAt - elapsedMs,
      endedAt,
      attributes: attributes ? [span.attributes, attributes] : [span.attributes],
      ...(links && { links }),
      error: span.error,
    });
  };
  telemetry.on('request.answered', ({ trace, route, method, status, elapsedMs }) => {
    if (!trace?.isSampled) return;
    add(trace, elapsedMs, {
      name: names.span.request(method, route),
      attributes: [
        [names.method, method],
        [names.route, route],
        [names.status, status],
      ],
      error: status >= 500 ? String(status) : undefined,
    });
  });
  telemetry.on('turn.answered', ({ trace, code, elapsedMs }) => {
    if (!trace?.isSampled) return;
    add(trace, elapsedMs, {
      name: names.span.turn,
      attributes: [[names.protocol, 'websocket']],
      error: code,
    });
  });
}

interface OfRequest {
  name: string;
  attributes: SpanAttributes;
  error: string | undefined;
}
