import { closeItem, closeSilently, track, type OpenOutput, type UnnumberedEvent } from '@sluice/contract';
import type { EndPlan } from './conclude-attempt.ts';

/**
 * Closes the items that are still open when a response ends. They are whole if the model has finished. A limit leaves the
 * last one incomplete, and any other end leaves all of them so.
 *
 * @returns the events of the closing; none for an output that nobody follows.
 */
export function closeOutput(
  output: OpenOutput,
  status: EndPlan['status'],
  { isFollowed }: { isFollowed: boolean },
): UnnumberedEvent[] {
  const open = [...output.open.keys()];
  const last = open.at(-1);
  const isWhole = (index: number) => status === 'completed' || (status === 'incomplete' && index !== last);
  const events: UnnumberedEvent[] = [];
  for (const index of open) {
    const itemStatus = isWhole(index) ? 'completed' : 'incomplete';
    if (isFollowed) events.push(...closeItem(output, index, itemStatus));
    else closeSilently(output, index, itemStatus);
  }
  for (const event of events) track(output, event, true);
  return events;
}
