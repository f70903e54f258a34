import { setTimeout as pause } from 'node:timers/promises';
import { checkEventGrammar } from '@sluice/testing';
import { type DeliverySite, responseIn } from './delivery-site.ts';
import { wholeReplay } from './measure-cuts.ts';
import { responseJsonIn, startRunning, type Window, windows } from './running-response.ts';
import { concurrently, randomFrom } from './statistics.ts';

/** What became of responses that were cancelled while they were about to complete. */
export interface Races {
  races: number;
  /** How many ended each way. */
  completed: number;
  cancelled: number;
  /** Observers that saw another end than the others: two apis, the canceller, the caller, two replays. */
  disagreements: number;
  first: string | undefined;
}

/** The lead of one racer over the other, in milliseconds: from a clear lead of one to a clear lead of the other. */
const spreadMs = 12;

/** Lets cancellations race completions, on different apis, in every window. */
export async function measureRaces(site: DeliverySite, races: number, seed: number): Promise<Races> {
  const random = randomFrom(seed);
  const result: Races = { races, completed: 0, cancelled: 0, disagreements: 0, first: undefined };
  await concurrently(races, 1, async (at) => {
    const window = windows[at % windows.length] ?? 'in mid-stream';
    const { status, problems } = await race(site, window, at, (random() * 2 - 1) * spreadMs);
    if (status === 'completed') result.completed += 1;
    else if (status === 'cancelled') result.cancelled += 1;
    else problems.push(`the end is ${status}`);
    result.disagreements += problems.length;
    if (problems[0] !== undefined) result.first ??= `race ${at}: ${problems[0]}`;
  });
  return result;
}

async function race(site: DeliverySite, window: Window, at: number, leadMs: number) {
  const { id, finish, answered } = await startRunning(site, window, at);
  const finishing = async () => {
    await pause(Math.max(0, leadMs)); // this is the race itself, not a wait for something
    finish();
  };
  const cancelling = async () => {
    await pause(Math.max(0, -leadMs)); // the same
    return site.cancel(at + 1, id);
  };
  const [cancel, told] = await Promise.all([cancelling(), answered, finishing()]);
  const [here, there, replayHere, replayThere] = await Promise.all([
    site.get(0, id),
    site.get(1, id),
    wholeReplay(site.replay(0, id)),
    wholeReplay(site.replay(1, id)),
  ]);
  const { status } = responseIn(here);
  const last = replayHere.at(-1)?.data ?? '';
  const doors = {
    'the other api': there.text,
    'the canceller': cancel.text,
    'the caller': told,
    'the end of the stream': responseJsonIn(last),
  };
  const problems = Object.entries(doors).flatMap(([door, text]) =>
    text === here.text ? [] : [`${door} was told\n${text}\nand not\n${here.text}`],
  );
  if (JSON.stringify(replayHere) !== JSON.stringify(replayThere)) problems.push('the two replays differ');
  problems.push(...checkEventGrammar(replayHere.map(({ data }): unknown => JSON.parse(data))));
  return { status, problems };
}
