import type { ResponseEnd } from '@sluice/contract';
import type { Finding } from '@sluice/response-store';
import { describe, expect, it } from 'vitest';
import { Rescue } from './rescue-responses.ts';

interface Left {
  findings: Finding[];
  /** Ids whose job BullMQ still means to run. */
  pending?: string[];
  /** Ids whose job nobody can be asked about. */
  unknown?: string[];
  /** Ids whose job waits outside of its queue. */
  deferred?: string[];
  /** Ids of those that end before they are put in line. */
  over?: string[];
  /** How long the jobs wait whose time is wrong, in milliseconds by id. */
  mistimed?: Record<string, number>;
  /** Queues that have gone far. */
  far?: string[];
}

function setUp({
  findings,
  pending = [],
  unknown = [],
  deferred = [],
  over = [],
  mistimed = {},
  far = [],
}: Left) {
  const clock = { now: 0 };
  const due: Finding[] = [];
  const canRecount = { now: true };
  const did = {
    ended: [] as { responseId: string; end: ResponseEnd }[],
    endedRunning: [] as string[],
    enqueued: [] as string[],
    inLine: [] as string[],
    letIn: [] as string[],
    looks: [] as string[],
    pages: [] as number[],
    recounts: [] as boolean[],
    removed: [] as string[],
    renumbered: [] as string[],
  };
  // The open set: as in the store, a response that is gone leaves it with the look, and one that ends with its end.
  let open = [...findings];
  const leave = (responseId: string) => {
    open = open.filter((each) => each.responseId !== responseId);
  };
  const rescue = new Rescue({
    survey: async (offset, count) => {
      did.pages.push(offset);
      const page = open.slice(offset, offset + count);
      for (const { kind, responseId } of page) if (kind === 'gone' || kind === 'vanished') leave(responseId);
      return page;
    },
    surveyDue: async (count) => due.splice(0, count),
    recount: async () => {
      did.recounts.push(canRecount.now);
      return canRecount.now;
    },
    endQueued: async (responseId, end) => {
      did.ended.push({ responseId, end });
      leave(responseId);
    },
    endRunning: async (responseId) => {
      did.endedRunning.push(responseId);
      leave(responseId);
    },
    queue: {
      isPending: async (_queue, responseId) => {
        did.looks.push(responseId);
        if (unknown.includes(responseId)) throw new RangeError('There is no such queue');
        return pending.includes(responseId);
      },
      enqueueAgain: async (queue, responseId, priority) => {
        expect(priority).toBe(7);
        did.enqueued.push(`${queue}/${responseId}`);
      },
      remove: async (queue, responseId) => void did.removed.push(`${queue}/${responseId}`),
      isDeferred: async (_queue, responseId) => deferred.includes(responseId),
      mistimed: async (_queue, responseId) => {
        const delayMs = mistimed[responseId];
        return delayMs === undefined ? undefined : { dueAt: 3_600_000, delayMs };
      },
      letIn: async (queue, responseId, priority) => {
        expect(priority).toBe(7);
        did.letIn.push(`${queue}/${responseId}`);
      },
    },
    storeNow: () => clock.now,
    priorityOf: async () => 7,
    standInLine: async (responseId) => {
      did.inLine.push(responseId);
      return !over.includes(responseId);
    },
    farQueues: async () => far,
    renumber: async (queue) => did.renumbered.push(queue) < 3,
    logger: { warn: () => undefined },
  });
  return { rescue, clock, due, canRecount, did, ...did };
}

function finding(kind: Finding['kind'], { ageMs = 60_000, id = 'r1' } = {}): Finding {
  return { responseId: id, kind, queue: 'm', ageMs };
}

describe('a response whose api died between accept and enqueue', () => {
  it('is abandoned, for nobody was told that it was accepted', async () => {
    const { rescue, ended, enqueued } = setUp({ findings: [finding('unqueued')] });
    expect(await rescue.round()).toBe(1);
    expect(ended).toMatchObject([
      { responseId: 'r1', end: { status: 'failed', error: { code: 'server_error' } } },
    ]);
    expect(enqueued).toEqual([]);
  });

  it('is left alone for a while: the api may be about to add the job', async () => {
    const { rescue, ended } = setUp({ findings: [finding('unqueued', { ageMs: 14_999 })] });
    expect(await rescue.round()).toBe(0);
    expect(ended).toEqual([]);
  });

  it('is left alone when its job was added and only the note of it is missing', async () => {
    const { rescue, ended } = setUp({ findings: [finding('unqueued')], pending: ['r1'] });
    expect(await rescue.round()).toBe(0);
    expect(ended).toEqual([]);
  });
});

describe('a response whose job was lost', () => {
  it('while it was in progress gets another one', async () => {
    const { rescue, ended, enqueued } = setUp({ findings: [finding('in_progress')] });
    expect(await rescue.round()).toBe(1);
    expect(enqueued).toEqual(['m/r1']);
    expect(ended).toEqual([]);
  });

  it('while it was queued gets another one once it was seen twice, so that a refusal can be taken back', async () => {
    const { rescue, ended, enqueued } = setUp({ findings: [finding('queued')] });
    expect(await rescue.round()).toBe(0);
    expect(enqueued).toEqual([]);
    expect(await rescue.round()).toBe(1);
    expect(enqueued).toEqual(['m/r1']);
    expect(ended).toEqual([]);
  });

  it('gets another one however many others lost theirs', async () => {
    const findings = Array.from({ length: 1_200 }, (_, at) => finding('queued', { id: `r${at}` }));
    const { rescue, enqueued } = setUp({ findings });
    expect(await rescue.round()).toBe(0);
    expect(await rescue.round()).toBe(1_200);
    expect(new Set(enqueued).size).toBe(1_200);
  });

  it('gets another one although one before it cannot be rescued', async () => {
    const findings = [finding('in_progress', { id: 'strange' }), finding('in_progress')];
    const { rescue, enqueued } = setUp({ findings, unknown: ['strange'] });
    expect(await rescue.round()).toBe(1);
    expect(enqueued).toEqual(['m/r1']);
  });

  it('gets another one while the worker lives that has it, once it was seen twice: that worker may have left it', async () => {
    const { rescue, ended, enqueued } = setUp({ findings: [finding('held')] });
    expect(await rescue.round()).toBe(0);
    expect(await rescue.round()).toBe(1);
    expect(enqueued).toEqual(['m/r1']);
    expect(ended).toEqual([]);
  });

  it('is looked for in few passes while a worker lives that has its response', async () => {
    const { rescue, enqueued, looks } = setUp({ findings: [finding('held')], pending: ['r1'] });
    for (let round = 0; round < 6; round += 1) expect(await rescue.round()).toBe(0);
    expect(looks).toEqual(['r1', 'r1', 'r1']);
    expect(enqueued).toEqual([]);
  });

  it.each(['queued', 'in_progress'] as const)('only by appearance, while %s, keeps its job', async (kind) => {
    const { rescue, enqueued } = setUp({ findings: [finding(kind)], pending: ['r1'] });
    expect(await rescue.round()).toBe(0);
    expect(enqueued).toEqual([]);
  });
});

describe('a response whose job waits for a time of a wrong clock', () => {
  it.each(['queued', 'in_progress'] as const)(
    'goes into its queue, while %s, when it has waited as long as it was to wait',
    async (kind) => {
      const { rescue, clock, letIn } = setUp({
        findings: [finding(kind)],
        pending: ['r1'],
        mistimed: { r1: 8_000 },
      });
      for (const now of [0, 5_000]) {
        clock.now = now;
        expect(await rescue.round()).toBe(0);
      }
      clock.now = 10_000;
      expect(await rescue.round()).toBe(1);
      expect(letIn).toEqual(['m/r1']);
    },
  );
});

describe('a response that should have ended while it ran', () => {
  it('is ended once it was seen twice when it was cancelled: a worker that is alive does it sooner', async () => {
    const { rescue, endedRunning } = setUp({ findings: [finding('stopping')] });
    expect(await rescue.round()).toBe(0);
    expect(await rescue.round()).toBe(1);
    expect(endedRunning).toEqual(['r1']);
  });

  it('does not have the second look of a round taken by what is due', async () => {
    const { rescue, endedRunning, due } = setUp({ findings: [finding('stopping')] });
    due.push(finding('stopping'));
    expect(await rescue.due()).toBe(0);
    expect(await rescue.round()).toBe(0);
    expect(endedRunning).toEqual([]);
  });

  it('is ended at once when its time was up long enough ago', async () => {
    const { rescue, endedRunning, due } = setUp({ findings: [] });
    due.push(finding('overdue'));
    expect(await rescue.due()).toBe(1);
    expect(endedRunning).toEqual(['r1']);
  });
});

describe('a response that nobody should run any more', () => {
  it.each([
    ['is cancelled when its caller left while it waited', 'cancelled', { status: 'cancelled', output: [] }],
    ['fails when it waited too long', 'expired', { status: 'failed', error: { code: 'timeout' } }],
  ] as const)('%s', async (_, kind, end) => {
    const { rescue, ended, removed } = setUp({ findings: [finding(kind)], pending: ['r1'] });
    expect(await rescue.round()).toBe(1);
    expect(ended).toMatchObject([{ end }]);
    expect(removed).toEqual(['m/r1']);
  });
});

describe('a round', () => {
  it('does nothing about what has ended', async () => {
    const { rescue, ended, enqueued } = setUp({ findings: [finding('gone')] });
    expect(await rescue.round()).toBe(0);
    expect([...ended, ...enqueued]).toEqual([]);
  });

  const many = (kind: Finding['kind'], count: number) =>
    Array.from({ length: count }, (_, at) => finding(kind, { id: `r${at}` }));
  const idsOf = (findings: Finding[]) => findings.map(({ responseId }) => responseId);

  it('takes a page after the other, and the next one begins anew', async () => {
    const findings = many('queued', 1_100);
    const { rescue, pages } = setUp({ findings, pending: idsOf(findings) });
    await rescue.round();
    expect(pages).toEqual([0, 500, 1_000]);
    await rescue.round();
    expect(pages).toEqual([0, 500, 1_000, 0, 500, 1_000]);
  });

  it('skips nothing when responses leave the set under its hands', async () => {
    const findings = [...many('expired', 1_700), ...many('gone', 300)];
    const { rescue, ended } = setUp({ findings });
    expect(await rescue.round()).toBe(1_700);
    expect(ended).toHaveLength(1_700);
  });

  it('is bounded: what is behind its last page is for the next', async () => {
    const findings = many('queued', 5_600);
    const { rescue, pages } = setUp({ findings, pending: idsOf(findings) });
    await rescue.round();
    expect(pages).toHaveLength(10);
    await rescue.round();
    expect(pages.slice(10)).toEqual([5_000, 5_500]);
  });

  it('ends after its page when the process stops', async () => {
    const findings = many('queued', 1_100);
    const { rescue, pages } = setUp({ findings, pending: idsOf(findings) });
    const round = rescue.round();
    rescue.stop();
    await round;
    expect(pages.length).toBeLessThanOrEqual(1);
  });
});

describe('what is due', () => {
  it('ends at once, however much there is', async () => {
    const { rescue, ended, removed, due } = setUp({ findings: [] });
    due.push(...Array.from({ length: 250 }, (_, at) => finding('expired', { id: `r${at}` })));
    expect(await rescue.due()).toBe(250);
    expect(ended).toHaveLength(250);
    expect(ended[0]).toMatchObject({ end: { status: 'failed', error: { code: 'timeout' } } });
    expect(removed).toHaveLength(250);
  });

  it('is left alone while it runs', async () => {
    const { rescue, ended, endedRunning, due } = setUp({ findings: [], pending: ['r1'] });
    due.push(finding('in_progress'));
    expect(await rescue.due()).toBe(0);
    expect([...ended, ...endedRunning]).toEqual([]);
  });
});

describe('a record that vanished', () => {
  it('has the waiting responses counted anew, once all were looked at', async () => {
    const { rescue, recounts } = setUp({ findings: [finding('vanished')] });
    await rescue.round();
    expect(recounts).toEqual([true]);
    await rescue.round();
    expect(recounts).toEqual([true]);
  });

  it('has them counted later when that has to wait', async () => {
    const { rescue, recounts, canRecount } = setUp({ findings: [finding('vanished')] });
    canRecount.now = false;
    await rescue.round();
    canRecount.now = true;
    await rescue.round();
    await rescue.round();
    expect(recounts).toEqual([false, true]);
  });
});

describe('a response whose job waits outside of its queue, and which is in no line', () => {
  const waits = { pending: ['r1'], deferred: ['r1'] };
  const leftOut = [finding('left_out')];

  it.each<[string, Left, object]>([
    ['is put in line', { findings: leftOut, ...waits }, { inLine: ['r1'] }],
    [
      'is put in line although nobody has noted its job',
      { findings: [finding('unqueued')], ...waits },
      { inLine: ['r1'] },
    ],
    [
      'has its job removed when it ends before it is put in line',
      { findings: leftOut, deferred: ['r1'], over: ['r1'] },
      { inLine: ['r1'], removed: ['m/r1'] },
    ],
    ['is left alone when its job is in its queue by now', { findings: leftOut, pending: ['r1'] }, {}],
    ['has its job added again when that is lost', { findings: leftOut }, { enqueued: ['m/r1'] }],
  ])('%s, when the second pass finds it so, too', async (_, left, expected) => {
    const { rescue, did } = setUp(left);
    const nothing = { inLine: [], enqueued: [], removed: [], ended: [] };
    await rescue.round();
    expect(did).toMatchObject(nothing);
    await rescue.round();
    expect(did).toMatchObject({ ...nothing, ...expected });
  });
});

it('renumbers a queue that has gone far, step by step', async () => {
  const { rescue, renumbered } = setUp({ findings: [], far: ['m'] });
  await rescue.tend();
  expect(renumbered).toEqual(['m', 'm', 'm']);
});
