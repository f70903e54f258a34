import type { RequestRate } from '@sluice/admission';

/** The `x-ratelimit-*` headers of a tenant with a request limit; none for one without. */
export function rateLimitHeaders(rate: RequestRate | undefined): Record<string, string> {
  if (!rate) return {};
  return {
    'x-ratelimit-limit-requests': String(rate.limit),
    'x-ratelimit-remaining-requests': String(rate.remaining),
    'x-ratelimit-reset-requests': goDuration(rate.resetMs),
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
