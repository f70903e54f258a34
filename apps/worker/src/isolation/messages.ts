import type { Settings } from '@sluice/config';
import type { Outcome } from '@sluice/queue';
import type { LetIn } from '@sluice/response-store';
import type { TelemetryFact } from '@sluice/runtime';

/** From a worker to its isolated process. `settings` comes first, and once. */
export type ToIsolated =
  | { type: 'settings'; settings: Settings & { redisUrl: string } }
  | { type: 'run'; responseId: string }
  /** The worker stops: every run ends or is given back. */
  | { type: 'interrupt' };

/** From an isolated process to its worker. */
export type FromIsolated =
  /** The worker has the queues. */
  | { type: 'let_in'; letIn: readonly LetIn[] }
  | { type: 'outcome'; responseId: string; outcome: Outcome }
  /** Whether the process has claims to release once Redis answers. If it ended before, they would count as lost with it. */
  | { type: 'releases'; arePending: boolean }
  | { type: 'happened'; told: TelemetryFact };
