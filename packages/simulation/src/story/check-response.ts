import { maxAttempts } from '../service/service-settings.ts';
import { takesLong } from './check-calls.ts';
import type { History } from './history.ts';
import type { PromptPlan } from './scenario.ts';
import { tokenOf, type UpstreamCall } from './upstream.ts';

/** A response as it is read in the end. */
export interface ReadResponse {
  id: string;
  status: 'completed' | 'incomplete' | 'failed' | 'cancelled' | 'queued' | 'in_progress';
  metadata: { caller: string };
  error: { code: string } | null;
  output: { type: string; content?: { text?: string }[] }[];
}

/** A run that died with its process is no attempt, and so many of those there are at most. */
const mostLosses = 3;

/** Holds one response against what is promised of it alone. `losses` of the store may have touched it. */
export function checkResponse(
  history: History,
  plan: PromptPlan,
  response: ReadResponse,
  losses: number,
): string[] {
  const calls = history.upstream.callsOf(plan.name);
  // Who is limited waits, and has used up no attempt.
  const counted = calls.filter(
    ({ responseId, planned }) => responseId === response.id && planned !== 'limited',
  ).length;
  const most = maxAttempts + mostLosses + losses * maxAttempts;
  return [
    ...checkText(plan, response),
    ...(losses > 0 ? [] : checkLastCall(history, plan, response)),
    ...(losses > 0 && takesItsTime(history) ? [] : checkTimeout(history, response)),
    ...(counted > most ? [`${counted} calls of the upstream, at most ${most}`] : []),
  ];
}

/** Who is superseded writes nothing, so a text is that of the call that was claimed last. */
function checkLastCall({ upstream }: History, { name }: PromptPlan, { id, output }: ReadResponse): string[] {
  const said = callIn(textOf(output));
  const isOfClaim = ({ responseId, isStale }: UpstreamCall) => responseId === id && !isStale;
  const last = upstream.callsOf(name).findLastIndex(isOfClaim) + 1;
  return said !== undefined && said < last
    ? [`its text is that of call ${said}, and call ${last} was made behind that`]
    : [];
}

/** A store may be away for so long before it comes back with less, and enough is left of the time of what ran, in milliseconds. */
const lossMs = 2_000;

/** Whether a loss leaves less of the time of a response than the rescue may need to find it. */
function takesItsTime({ scenario }: History): boolean {
  return scenario.faults.some((fault) => fault.kind === 'forget' && fault.forMs > lossMs);
}

/** Nothing fails because it has waited too long where nothing takes long, also when the store has lost what was known of it. */
function checkTimeout(history: History, { id, error }: ReadResponse): string[] {
  if (error?.code !== 'timeout' || takesLong(history)) return [];
  const calls = history.upstream.calls.filter(({ responseId }) => responseId === id);
  return [`${id} has run out of time after ${calls.length} calls, and nothing takes long`];
}

/** All that a response says. */
export function textOf(output: ReadResponse['output']): string {
  return output
    .flatMap(({ content }) => content ?? [])
    .map((part) => part.text ?? '')
    .join('');
}

/** The number of the call that a text is of. */
function callIn(text: string): number | undefined {
  const number = /^\w+\.(\d+)/.exec(text)?.[1];
  return number === undefined ? undefined : Number(number);
}

function checkText(plan: PromptPlan, { status, output }: ReadResponse): string[] {
  const text = textOf(output);
  const tokens = text.split(' ').filter((token) => token !== '');
  const call = callIn(text) ?? 0;
  const expected = tokens.map((_, at) => tokenOf(plan, call, at + 1)).join('');
  if (text !== expected) return [`its text is not that of one call: '${text.slice(0, 500)}'`];
  return status === 'completed' && tokens.length === 0 ? ['it is completed without a text'] : [];
}
