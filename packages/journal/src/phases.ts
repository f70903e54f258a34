import type { Phase, WaitReason } from '@sluice/contract/admin';
import type { JournalLine } from './journal-line.ts';

/** The time that it takes to pass through an empty queue, in milliseconds. A shorter wait has no reason. */
const shortWaitMs = 50;

/** A phase whose reason for waiting in the queue is not known yet. */
interface Span {
  kind: Phase['kind'];
  from: number;
  to: number | null;
  because: WaitReason | 'queue' | null;
}

/** Events around a response while it waited in its queue. */
export interface QueueSurroundings {
  /** When another response of its queue was started last in `[from, to)`; undefined when none was. */
  lastStart: (from: number, to: number) => number | undefined;
  /** When its queue was paused, oldest first; `to` is null while it is. */
  pauses: readonly { from: number; to: number | null }[];
  /** Its place in its queue now, where 1 is next; undefined when it has none, or the place is not known. */
  position: number | undefined;
  /** By the store's clock. */
  now: number;
}

const blockReasons: Record<string, WaitReason> = {
  parked: 'upstream_parked',
  open: 'upstream_open',
  busy: 'upstream_busy',
  saturated: 'upstream_saturated',
  memory: 'worker_memory',
  model: 'model_unknown',
};

/**
 * The bar of a response, from its accept to its end without gaps, and the reason of each wait. `lines` are in the order of
 * their times.
 */
export function phasesOf(
  lines: readonly JournalLine[],
  {
    acceptedAt,
    endedAt,
    isOpen,
    ...around
  }: QueueSurroundings & { acceptedAt: number; endedAt: number | null; isOpen: boolean },
): Phase[] {
  const spans = spansOf(lines, acceptedAt);
  const last = spans.at(-1);
  if (last && !isOpen) last.to = Math.max(last.from, endedAt ?? last.from);
  return joined(spans.filter(hasTime).flatMap((span) => explained(span, around)));
}

function spansOf(lines: readonly JournalLine[], acceptedAt: number): Span[] {
  const spans: Span[] = [{ kind: 'waiting', from: acceptedAt, to: null, because: 'queue' }];
  const turn = (kind: Span['kind'], at: number, because: Span['because'] = null) => {
    const last = spans.at(-1);
    // Two processes read one clock, each with an error of its own.
    const from = Math.max(at, last?.from ?? at);
    if (last) last.to = from;
    spans.push({ kind, from, to: null, because });
  };
  let saidAt = acceptedAt;
  for (const line of lines) {
    const last = spans.at(-1);
    switch (line.what) {
      case 'accepted':
        if (line.isInLine && last?.because === 'queue') last.because = 'tenant_full';
        break;
      case 'let_in':
        if (last?.because === 'tenant_full') turn('waiting', line.at, 'queue');
        break;
      case 'crowded':
        turn('waiting', line.at, 'tenant_full');
        break;
      case 'claimed':
        // It ran in a process that has written no line since then, and no end.
        if (last && last.kind !== 'waiting') turn('waiting', saidAt, 'worker_lost');
        turn('starting', line.at);
        break;
      case 'blocked':
        turn('waiting', line.at, blockReasons[line.because ?? ''] ?? null);
        break;
      case 'called':
        if (last?.kind === 'waiting' || last?.kind === 'generating') turn('starting', line.at);
        break;
      case 'first_output':
        turn('generating', line.at);
        break;
      case 'retried':
        if (line.delayMs > 0) turn('waiting', line.at, 'retry_delay');
        break;
      case 'postponed':
        turn('waiting', line.at, blockReasons[line.because ?? ''] ?? null);
        break;
      case 'given_back':
      case 'given_up':
        turn('waiting', line.at, 'worker_lost');
        break;
      default:
    }
    saidAt = Math.max(saidAt, line.at);
  }
  return spans;
}

/** The reason of a wait in a queue: an operator, other responses, or no free slot. */
function explained(
  { kind, from, to, because }: Span,
  { lastStart, pauses, position, now }: QueueSurroundings,
): Phase[] {
  if (because !== 'queue') return [{ kind, from, to, because: isShort(from, to, now) ? null : because }];
  const wait = (begin: number, end: number | null, why: WaitReason): Phase => ({
    kind: 'waiting',
    from: begin,
    to: end,
    because: isShort(from, to, now) ? null : why,
  });
  const inQueue = (begin: number, end: number | null): Phase[] => {
    if (end === null && position !== undefined && position > 1) return [wait(begin, end, 'behind_others')];
    const passed = lastStart(begin, end ?? now);
    if (passed === undefined || passed <= begin) return [wait(begin, end, 'model_full')];
    return [wait(begin, passed, 'behind_others'), wait(passed, end, 'model_full')];
  };
  const phases: Phase[] = [];
  let begin = from;
  for (const pause of pauses) {
    if (to !== null && pause.from >= to) break;
    if (pause.to !== null && pause.to <= begin) continue;
    if (pause.from > begin) phases.push(...inQueue(begin, pause.from));
    const end = pause.to === null ? to : Math.min(pause.to, to ?? pause.to);
    phases.push(wait(Math.max(begin, pause.from), end, 'queue_paused'));
    if (end === null || end === to) return phases;
    begin = end;
  }
  return [...phases, ...inQueue(begin, to)];
}

/** Merges neighbouring phases that say the same. */
function joined(phases: readonly Phase[]): Phase[] {
  const bar: Phase[] = [];
  for (const phase of phases) {
    const last = bar.at(-1);
    if (last && last.kind === phase.kind && last.because === phase.because) last.to = phase.to;
    else bar.push({ ...phase });
  }
  return bar;
}

function hasTime({ from, to }: Span): boolean {
  return to === null || to > from;
}

function isShort(from: number, to: number | null, now: number): boolean {
  return (to ?? now) - from < shortWaitMs;
}
