import { admissionFragments } from '@sluice/admission';
import type { Cell } from '../record/cells.ts';
import type { StoreAccess } from '../record/store-access.ts';
import { defineScript, textReply } from '../script/define-script.ts';

const runningFlowsScript = defineScript({
  by: 'rescue',
  file: new URL('../../src/reading/running-flows.lua', import.meta.url),
  fragments: admissionFragments,
  keys: ['fair', 'records', 'load'],
  args: [],
});

/** How far the order of a queue has come in a cell, and flows that run there. */
export interface RunningFlows {
  /** Distance of the virtual time from the base of the priorities, in ticks. */
  passed: number;
  flows: RunningFlow[];
}

export interface RunningFlow {
  /** How many of the responses are its own. */
  running: number;
  /** How far one response moves it on, in ticks. */
  cost: number;
  /** How far its next tag is ahead of the virtual time, in ticks. */
  lead: number;
  /** How many responses of its tenant wait in the cell, whatever their queue. */
  waiting: number;
}

/** The flows to which some running responses of a queue belong. One that is gone by now is passed over. */
export async function runningFlows(
  { redis, keys }: StoreAccess,
  cell: Cell,
  { queue, responseIds }: { queue: string; responseIds: readonly string[] },
): Promise<RunningFlows> {
  const ofCell = keys.inCell(cell);
  const reply = await runningFlowsScript(redis, {
    keys: { fair: ofCell.fair(queue), records: ofCell.record(''), load: ofCell.load },
    args: {},
    moreArgs: responseIds,
  });
  const [passed, ...numbers] = textReply(reply).map(Number);
  const flows = Array.from({ length: numbers.length / 4 }, (_flow, at): RunningFlow => {
    const [running = 0, cost = 1, lead = 0, waiting = 0] = numbers.slice(4 * at, 4 * at + 4);
    return { running, cost, lead, waiting };
  });
  return { passed: passed ?? 0, flows };
}
