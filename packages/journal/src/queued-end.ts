import type { ResponseEnd } from '@sluice/contract';
import type { TelemetryEvents } from '@sluice/runtime';

/** The fact of telemetry about a response that ended before any worker had taken it. */
export function queuedEndFact({
  responseId,
  tenant,
  model,
  end,
}: {
  responseId: string;
  tenant: string;
  model: string;
  end: ResponseEnd;
}): TelemetryEvents['response.ended'] {
  const code = end.error?.code;
  const because = end.status === 'cancelled' ? 'cancelled' : code === 'timeout' ? 'expired' : 'abandoned';
  const none = { attempt: 0, inputTokens: undefined, outputTokens: undefined };
  return { responseId, tenant, model, status: end.status, code, because, ...none };
}
