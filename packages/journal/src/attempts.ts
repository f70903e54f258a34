import type { AttemptReport } from '@sluice/contract/admin';
import type { JournalLine } from './journal-line.ts';

/**
 * The attempts of a response, from its lines. An attempt was lost with its process if it has no end when the next one is
 * claimed, or if the response ends without it.
 */
export function attemptsOf(lines: readonly JournalLine[]): AttemptReport[] {
  const attempts: AttemptReport[] = [];
  const last = () => attempts.at(-1);
  const end = (outcome: AttemptReport['outcome'], at: number, more: Partial<AttemptReport> = {}) => {
    const attempt = last();
    if (attempt?.outcome === 'running') Object.assign(attempt, { outcome, ended_at: at, ...more });
  };
  for (const line of lines) {
    switch (line.what) {
      case 'claimed':
        end('lost', line.at, { ended_at: null });
        attempts.push({
          ...begun(line.attempt, line.worker, line.at),
          worker_host: line.host ?? null,
          worker_pid: line.pid ?? null,
        });
        break;
      case 'called': {
        const attempt = last() ?? unclaimed(attempts, line.attempt);
        attempt.provider = line.provider ?? null;
        attempt.upstream_model = line.upstreamModel;
        break;
      }
      case 'first_output': {
        const attempt = last() ?? unclaimed(attempts, line.attempt);
        attempt.first_output_at = line.at;
        break;
      }
      case 'failed': {
        const attempt = last() ?? unclaimed(attempts, line.attempt);
        attempt.error_code = line.code ?? null;
        attempt.upstream_status = line.upstreamStatus ?? null;
        attempt.upstream_reason = line.reason ?? null;
        if (line.provider !== undefined) attempt.provider = line.provider;
        break;
      }
      case 'retried':
        end('retried', line.at, { retry_delay_ms: line.delayMs, error_code: line.code ?? null });
        break;
      case 'postponed':
        end('postponed', line.at, { retry_delay_ms: line.afterMs });
        break;
      case 'given_back':
        end('given_back', line.at);
        break;
      case 'superseded':
      case 'given_up':
        end('lost', line.at);
        break;
      case 'ended':
        endWith(last(), line, end);
        break;
      default:
    }
  }
  return attempts;
}

type Ended = Extract<JournalLine, { what: 'ended' }>;

/** An end that was written in place of an attempt says why. Any other end is that of the last attempt. */
function endWith(
  attempt: AttemptReport | undefined,
  { at, because, status, code }: Ended,
  end: (outcome: AttemptReport['outcome'], at: number, more?: Partial<AttemptReport>) => void,
): void {
  if (attempt === undefined) return;
  const wasLost = because === 'broken_off' || because === 'lost' || because === 'exhausted';
  if (wasLost) end('lost', at, { ended_at: null });
  else if (status === 'failed') end('failed', at, { error_code: code ?? attempt.error_code });
  else end('ended', at);
}

function begun(attempt: number, worker: string | null, at: number | null): AttemptReport {
  return {
    attempt,
    worker,
    worker_host: null,
    worker_pid: null,
    provider: null,
    upstream_model: null,
    started_at: at,
    first_output_at: null,
    ended_at: null,
    outcome: 'running',
    error_code: null,
    upstream_status: null,
    upstream_reason: null,
    retry_delay_ms: null,
  };
}

/** An attempt without a line for its claim. */
function unclaimed(attempts: AttemptReport[], number: number): AttemptReport {
  const attempt = begun(number, null, null);
  attempts.push(attempt);
  return attempt;
}
