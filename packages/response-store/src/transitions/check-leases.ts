import { cellOf } from '../record/cells.ts';
import { keysOf, type StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';
import { fragments } from '../script/fragments.ts';

const checkLeasesScript = defineScript({
  by: 'attempt',
  writes: ['left_at'],
  file: new URL('../../src/transitions/check-leases.lua', import.meta.url),
  fragments: fragments('clock', 'absence'),
  keys: [],
  args: [],
});

/** Responses looked at in one script, which holds up everybody else meanwhile. */
const batchSize = 100;

export type LeaseState = 'ok' | 'superseded' | 'cancelled';

/** Says for each response that a worker runs whether it still holds it, in their order. */
export async function checkLeases(
  access: StoreAccess,
  held: readonly { responseId: string; token: string }[],
): Promise<LeaseState[]> {
  const states = new Map<string, LeaseState>();
  for (const ofCell of Map.groupBy(held, ({ responseId }) => cellOf(responseId)).values()) {
    for (let at = 0; at < ofCell.length; at += batchSize) {
      const batch = ofCell.slice(at, at + batchSize);
      const reply = await checkLeasesScript(access.redis, {
        keys: {},
        args: {},
        moreKeys: batch.map(({ responseId }) => keysOf(access, responseId).record),
        moreArgs: batch.map(({ token }) => token),
      });
      textReply(reply).forEach((word, index) => states.set(batch[index]?.responseId ?? '', state(word)));
    }
  }
  return held.map(({ responseId }) => states.get(responseId) ?? 'superseded');
}

function state(word: string | undefined): LeaseState {
  return word === 'ok' || word === 'cancelled' ? word : 'superseded';
}
