import { completed, type ContentEvent, nothingProduced, type UnnumberedEvent } from '@sluice/contract';
import type { ClaimedRecord } from '@sluice/response-store';
import { eventually } from '@sluice/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ResponseLog } from '../src/response-log.ts';

/** One accepted response in an implementation of the log, with at most two runs. */
export interface LogUnderTest {
  log: ResponseLog;
  responseId: string;
  /** Somebody asks for the end. */
  cancel(): Promise<void>;
  close(): Promise<void>;
}

const end = completed(nothingProduced, 1_700_000_000);
const never = new AbortController().signal;

const message: UnnumberedEvent = {
  type: 'response.output_item.added',
  output_index: 0,
  item: { type: 'message', id: 'msg_1', status: 'in_progress', role: 'assistant', content: [] },
};

/** What an attempt relies on, whatever stands behind the log. */
export function responseLogConformance(
  name: string,
  start: (options: { streams: boolean }) => Promise<LogUnderTest>,
): void {
  describe(`${name} as a log of responses`, () => {
    let streamed: LogUnderTest;
    let whole: LogUnderTest;

    beforeEach(async () => {
      streamed = await start({ streams: true });
      whole = await start({ streams: false });
    });
    afterEach(async () => {
      await streamed.close();
      await whole.close();
    });

    async function claimed({ log, responseId }: LogUnderTest, token: string): Promise<ClaimedRecord> {
      const claim = await log.claim(responseId, token);
      if (claim.kind !== 'run') throw new Error(`not claimed: ${claim.kind}`);
      return claim.record;
    }

    function writing({ log }: LogUnderTest, record: ClaimedRecord) {
      const refused: string[] = [];
      const writer = log.writer(record, { onRefused: (reason) => refused.push(reason), signal: never });
      return { writer, refused };
    }

    const typesIn = async ({ log, responseId }: LogUnderTest): Promise<ContentEvent['type'][]> =>
      (await log.readContentEvents(responseId)).map(({ type }) => type);

    it('hands a first attempt the lease, its number and its input', async () => {
      const record = await claimed(streamed, 'a');
      expect(record).toMatchObject({
        id: streamed.responseId,
        token: 'a',
        attempt: 1,
        maxAttempts: 2,
        status: 'in_progress',
        sequenceNumber: 2,
        streams: true,
      });
      expect(record.remainingMs).toBeGreaterThan(0);
    });

    it('counts one attempt when a claim is repeated', async () => {
      await claimed(streamed, 'a');
      expect(await claimed(streamed, 'a')).toMatchObject({ attempt: 1 });
      expect(await claimed(streamed, 'b')).toMatchObject({ attempt: 2 });
      expect(await streamed.log.claim(streamed.responseId, 'c')).toMatchObject({
        kind: 'end',
        because: 'exhausted',
      });
    });

    it('keeps what is written, in order, and then the end', async () => {
      const record = await claimed(streamed, 'a');
      const { writer, refused } = writing(streamed, record);
      writer.write(message);
      await writer.flush();
      expect(await streamed.log.readContentEvents(streamed.responseId)).toEqual([
        { ...message, sequence_number: 3 },
      ]);
      expect(await writer.end(end)).toBe('ok');
      expect(await writer.end(end)).toBe('ok');
      expect(refused).toEqual([]);
      const again = await streamed.log.claim(streamed.responseId, 'b');
      expect(again).toEqual({ kind: 'nothing', because: 'terminal' });
    });

    it('keeps nothing but the end of what is not streamed', async () => {
      const { writer } = writing(whole, await claimed(whole, 'a'));
      writer.write(message);
      expect(await writer.end(end)).toBe('ok');
      expect(await typesIn(whole)).toEqual([]);
    });

    it('refuses whoever lost the lease, and says so once', async () => {
      const { writer, refused } = writing(streamed, await claimed(streamed, 'a'));
      await claimed(streamed, 'b');
      writer.write(message);
      await writer.flush();
      await eventually(() => refused.length > 0);
      expect(refused).toEqual(['superseded']);
      expect(await writer.end(end)).toBe('superseded');
      expect(await typesIn(streamed)).toEqual([]);
    });

    it('lets no attempt follow output that may have been seen', async () => {
      const { writer } = writing(streamed, await claimed(streamed, 'a'));
      writer.write(message);
      await writer.flush();
      const next = await streamed.log.claim(streamed.responseId, 'b');
      expect(next).toMatchObject({ kind: 'end', because: 'broken_off', record: { sequenceNumber: 3 } });
    });

    it('lets another attempt follow what nobody could see', async () => {
      const { writer } = writing(whole, await claimed(whole, 'a'));
      writer.write(message);
      expect(await claimed(whole, 'b')).toMatchObject({ attempt: 2 });
    });

    it('takes a response back without counting the attempt', async () => {
      const record = await claimed(streamed, 'a');
      const options = { isCounted: false };
      expect(await streamed.log.release({ id: record.id, token: 'b' }, options)).toBe(false);
      expect(await streamed.log.release(record, options)).toBe(true);
      expect(await streamed.log.release(record, options)).toBe(false);
      expect(await claimed(streamed, 'c')).toMatchObject({ attempt: 1 });
    });

    it('takes a response back and counts the attempt', async () => {
      const record = await claimed(streamed, 'a');
      expect(await streamed.log.release(record, { isCounted: true })).toBe(true);
      expect(await claimed(streamed, 'c')).toMatchObject({ attempt: 2 });
    });

    it('tells what became of a lease', async () => {
      const states = () => streamed.log.checkLeases([{ responseId: streamed.responseId, token: 'a' }]);
      await claimed(streamed, 'a');
      expect(await states()).toEqual(['ok']);
      await streamed.cancel();
      expect(await states()).toEqual(['cancelled']);
      await streamed.log.claim(streamed.responseId, 'b');
      expect(await states()).toEqual(['superseded']);
    });

    it('tells a writer that the end was asked for, and takes it', async () => {
      const { writer, refused } = writing(streamed, await claimed(streamed, 'a'));
      await streamed.cancel();
      writer.write(message);
      await writer.flush();
      await eventually(() => refused.length > 0);
      expect(refused).toEqual(['cancelled']);
      expect(await writer.end(end)).toBe('ok');
    });

    it('runs nothing whose end was asked for', async () => {
      await whole.cancel();
      expect(await whole.log.claim(whole.responseId, 'a')).toMatchObject({
        kind: 'end',
        because: 'cancelled',
      });
    });

    it('has no context for a response that continues from none', async () => {
      expect(await whole.log.readContext(await claimed(whole, 'a'))).toEqual({ kind: 'whole', items: [] });
    });
  });
}
