import type { WindowUse } from '@sluice/admission';
import type { TenantUse } from '@sluice/response-store';

/** The `x-ratelimit-*` headers of a tenant, for each limit that it has. */
export function rateLimitHeaders(use: TenantUse | undefined): Record<string, string> {
  return { ...headersOf('requests', use?.requests), ...headersOf('tokens', use?.tokens) };
}

/** The same as Anthropic's clients read them: each limit is full again at a time, and not after one. */
export function anthropicRateLimitHeaders(use: TenantUse | undefined, now: number): Record<string, string> {
  return Object.fromEntries(
    (['requests', 'tokens'] as const).flatMap((of) => {
      const { limit, remaining, resetMs } = use?.[of] ?? {};
      if (limit === undefined || remaining === undefined || resetMs === undefined) return [];
      const name = `anthropic-ratelimit-${of}`;
      return [
        [`${name}-limit`, String(limit)],
        [`${name}-remaining`, String(remaining)],
        // Whole seconds, as RFC 3339 is mostly read.
        [`${name}-reset`, new Date(now + resetMs).toISOString().replace(/\.\d+/, '')],
      ];
    }),
  );
}

function headersOf(of: 'requests' | 'tokens', use: WindowUse | undefined): Record<string, string> {
  if (!use) return {};
  return {
    [`x-ratelimit-limit-${of}`]: String(use.limit),
    [`x-ratelimit-remaining-${of}`]: String(use.remaining),
    [`x-ratelimit-reset-${of}`]: goDuration(use.resetMs),
  };
}

/** A duration as Go prints it, which is how clients expect it: `12ms`, `1.5s`, `6m0s`. */
export function goDuration(milliseconds: number): string {
  const whole = Math.max(0, Math.round(milliseconds));
  if (whole < 1000) return `${whole}ms`;
  const minutes = Math.floor(whole / 60_000);
  const seconds = (whole % 60_000) / 1000;
  return minutes === 0 ? `${seconds}s` : `${minutes}m${seconds}s`;
}
