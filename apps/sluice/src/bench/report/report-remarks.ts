import { count, percent, time } from './format.ts';
import type { Report } from './report.ts';

/** Share of the time from which on the tool is likely to measure itself. */
const busyFrom = 0.85;
/** Lateness of one request in ten from which on it shows in the figures, in milliseconds. */
const lateFrom = 10;

/** Remarks for a reader of the report: reasons to doubt it, and what to change. */
export function remarksOn(report: Report): string[] {
  const { all, modes, settings, ended_by, tool_busy_share, sent_late_ms } = report;
  const remarks: string[] = [];
  if (ended_by === 'interrupt') remarks.push('The run was stopped before its end.');
  if (all.unfinished > 0)
    remarks.push(
      `${count(all.unfinished)} requests were given up before their end, and are in no other figure.`,
    );
  if (all.not_sent > 0) {
    const most = Number(settings.load['most_outstanding']);
    remarks.push(
      `${count(all.not_sent)} requests were due while ${count(most)} were outstanding, and were not sent: the endpoint does not keep up with ${settings.load['rate']} a second.`,
    );
  }
  if (tool_busy_share >= busyFrom)
    remarks.push(
      `The tool itself was busy for ${percent(tool_busy_share)} of the time, so the endpoint may be faster than this: use less load, or several machines.`,
    );
  if (sent_late_ms && sent_late_ms.p90 >= lateFrom)
    remarks.push(
      `One request in ten was sent ${time(sent_late_ms.p90)} late or more, because the tool or its machine was busy. That is part of their latency.`,
    );
  const only = all.errors_by_cause.length === 1 ? all.errors_by_cause[0] : undefined;
  if (all.answered === 0 && only?.status === 401)
    remarks.push('Every request was answered with 401: name a key with --key or SLUICE_API_KEY.');
  if (all.answered === 0 && only?.status === 404)
    remarks.push(
      `Every request was answered with 404: is ${settings.url} the base URL? It mostly ends with /v1.`,
    );
  const streams = modes['stream'];
  if (streams && streams.answered > 0 && streams.time_to_first_token_ms === null)
    remarks.push('No stream had a piece of output, so there is no time to first token.');
  return remarks;
}
