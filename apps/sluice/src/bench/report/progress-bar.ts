import { barOf } from '../../bar.ts';
import { count, figure, percent, time } from './format.ts';
import type { RunningPart } from '../load/run-load.ts';

/** How often the bar is drawn, in milliseconds. */
const everyMs = 200;
const stoppingNote = 'waiting for requests in flight; Ctrl-C again ends at once';

export interface ProgressBar {
  /** Shows a part of the run from now on. */
  show(part: RunningPart): void;
  /** Says that no more is sent because somebody asked for that; without a terminal as a line of its own. */
  stopping(): void;
  /** Clears the line. Nothing is drawn after that. */
  close(): void;
}

/** A bar on a terminal. Draws nothing on anything else, so that logs stay clean. */
export function openProgressBar(stream: NodeJS.WriteStream): ProgressBar {
  let part: { running: RunningPart; startedAt: number } | undefined;
  let isStopping = false;
  const draw = () => {
    if (!part || !stream.isTTY) return;
    const line = barLine(part.running, { elapsedMs: performance.now() - part.startedAt, isStopping });
    stream.write(`\r${line.slice(0, Math.max(20, stream.columns - 1))}\u001b[K`);
  };
  const timer = stream.isTTY ? setInterval(draw, everyMs) : undefined;
  return {
    show(running) {
      part = { running, startedAt: performance.now() };
      draw();
    },
    stopping() {
      if (!stream.isTTY && !isStopping) stream.write(`sluice: ${stoppingNote}\n`);
      isStopping = true;
      draw();
    },
    close() {
      clearInterval(timer);
      if (part && stream.isTTY) stream.write('\r\u001b[K');
      part = undefined;
    },
  };
}

/** One line that says how far a part of the run is. */
export function barLine(
  { name, extent, counts, tally }: RunningPart,
  { elapsedMs, isStopping }: { elapsedMs: number; isStopping: boolean },
): string {
  const { answered, failed, notSent } = tally.all;
  const ended = counts.begun - counts.outstanding;
  const shares = [
    ...(extent.requests === undefined ? [] : [ended / extent.requests]),
    ...(extent.durationMs === undefined ? [] : [elapsedMs / extent.durationMs]),
  ];
  const share = Math.min(1, Math.max(0, ...shares));
  const facts = [
    `${count(answered)} answered`,
    ...(failed > 0 ? [`${count(failed)} errors`] : []),
    ...(notSent > 0 ? [`${count(notSent)} not sent`] : []),
    `${count(counts.outstanding)} under way`,
    `${figure(elapsedMs > 0 ? (answered * 1000) / elapsedMs : 0)}/s`,
  ];
  if (isStopping) facts.push(stoppingNote);
  else if (counts.isSent) facts.push('all sent');
  else if (share > 0.02) facts.push(`${roughly((elapsedMs * (1 - share)) / share)} left`);
  return `${name.padEnd(8)}${barOf(share)} ${percent(share).padStart(5)}  ${facts.join(', ')}`;
}

/** A time in whole seconds, which does not flicker. */
function roughly(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  return seconds < 100 ? `${seconds} s` : time(seconds * 1000);
}
