import { expect, it } from 'vitest';
import type { Told } from './followed-response.ts';
import { isExplained } from './soak-ends.ts';

const completed: Told = { kind: 'end', json: '{"status":"completed"}' };
const failed: Told = { kind: 'end', json: '{"status":"failed"}' };
const refused: Told = { kind: 'refused', status: 401, text: '' };
const cut: Told = { kind: 'broken', reason: 'before the first event' };
const kill = { from: 100, to: 200 };

it.each<[string, Told, boolean, boolean, boolean]>([
  ['completes', completed, false, true, true],
  ['fails', failed, false, false, true],
  ['is refused', refused, false, false, true],
  ['is refused before its caller leaves', refused, true, false, true],
  ['is cut off', cut, false, false, true],
  ['is left by its caller', { kind: 'broken', reason: 'the caller left' }, true, true, true],
  ['waits until its caller gives up', { kind: 'broken', reason: 'out of patience' }, false, false, false],
])('a response of the soak that %s', (_, told, isLeaving, alone, duringKill) => {
  const request = { told, isLeaving, sentAt: 10, at: 90 };
  expect(isExplained(request, [kill])).toBe(alone);
  expect(isExplained({ ...request, at: 110 }, [kill])).toBe(duringKill);
  expect(isExplained({ ...request, sentAt: 190, at: 300 }, [kill])).toBe(duringKill);
  expect(isExplained({ ...request, sentAt: 210, at: 300 }, [kill])).toBe(alone);
});
