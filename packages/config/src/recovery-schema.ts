import { z } from 'zod';
import { milliseconds, wholeNumber } from './value-schemas.ts';

/** A lease is renewed every third of its time. On a busy machine a shorter one would expire during pauses. */
const shortestLockMs = 3000;

/** The lease on a job and the interval of the scan for expired ones, by default. */
export const recoveryDefaults = { lockMs: 10_000, stalledMs: 3000 };
/** How long the breaker of an upstream stays open, at first and at most, by default. */
export const breakerDefaults = { openMs: 1000, longestOpenMs: 30_000 };

/** What is done when a process, a caller or an upstream is lost. */
export const recoverySchema = z
  .strictObject({
    lockMs: milliseconds(shortestLockMs).default(recoveryDefaults.lockMs).meta({
      description:
        "A worker's lease on a job. The job of a dead worker runs again after this time and two scans at the latest.",
    }),
    stalledMs: milliseconds(100)
      .default(recoveryDefaults.stalledMs)
      .meta({ description: 'Interval of the scan for expired leases.' }),
    maxAttempts: wholeNumber(1, 100).default(2).meta({
      description:
        'Most attempts at one response before it fails. An upstream that refuses before any output has begun no generation: the attempt goes on with a route that has not failed yet.',
    }),
    outageMs: milliseconds(1000).default(60_000).meta({
      description:
        'How long a worker goes on with its attempts while Redis does not answer. After that it gives them up.',
    }),
    longestRetryAfterMs: milliseconds().default(60_000).meta({
      description:
        'Longest wait that an upstream may ask for with `Retry-After`. After a 429 its model takes no calls for that time.',
    }),
    breaker: z
      .strictObject({
        consecutiveFailures: wholeNumber(1, 1_000_000).default(5).meta({
          description: 'Failures in a row that open it.',
        }),
        failurePercent: wholeNumber(1, 100).default(50).meta({
          description: 'Share of failed calls in the window that opens it.',
          unit: '%',
        }),
        minimumCalls: wholeNumber(1, 1_000_000)
          .default(20)
          .meta({ description: 'Calls in the window before their share of failures counts.' }),
        windowMs: milliseconds(100).default(30_000).meta({ description: 'How far back calls count.' }),
        openMs: milliseconds().default(breakerDefaults.openMs).meta({
          description: 'How long it stays open the first time. Each failed probe doubles it.',
        }),
        longestOpenMs: milliseconds()
          .default(breakerDefaults.longestOpenMs)
          .meta({ description: 'How long it stays open at most.' }),
        waitMs: milliseconds(0).optional().meta({
          description:
            'When every upstream of a model is down: for how long since then its responses wait. After that they fail at once, but for those in the background. Without it, they wait for as long as they may take.',
        }),
      })
      .prefault({})
      .meta({
        description:
          'Circuit breakers of each provider and each of its models, in each worker: they keep calls from an upstream that is down.',
      }),
    disconnectGraceMs: milliseconds(0).default(0).meta({
      description: 'How long a response goes on after its caller has left.',
    }),
    retryGraceMs: milliseconds(0).default(30_000).meta({
      description: 'The same for a response with an Idempotency-Key, or one whose API process is draining.',
    }),
  })
  .prefault({})
  .meta({ description: 'The behaviour when a process or a caller is lost.' });
