import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { BodyBudget } from './body-budget.ts';
import { receiveBody } from './receive-body.ts';

function receive(
  chunks: Iterable<Buffer>,
  { length, most = 1_000_000, budget = new BodyBudget(() => 10_000_000) }: ReceiveTest = {},
): Promise<Buffer<ArrayBuffer> | undefined> {
  const reservation = budget.open('a');
  return new Promise((resolve, reject) => {
    receiveBody(Readable.from(chunks), { length, most, reservation }, (error, body) =>
      error ? reject(error) : resolve(body),
    );
  });
}

interface ReceiveTest {
  length?: number;
  most?: number;
  budget?: BodyBudget;
}

const pieces = (count: number, piece: string) => Array.from({ length: count }, () => Buffer.from(piece));

describe('a body that is received', () => {
  it('is what was sent, in a buffer of its own, with a length and without', async () => {
    for (const length of [300_000, undefined]) {
      const body = await receive(pieces(100_000, 'abc'), { ...(length !== undefined && { length }) });
      expect(body?.toString()).toBe('abc'.repeat(100_000));
      expect(body?.byteOffset).toBe(0);
    }
  });

  it('has its length reserved before anything of it arrives', async () => {
    const budget = new BodyBudget(() => 100);
    await expect(receive([], { length: 51, budget })).rejects.toMatchObject({ code: 'request_too_large' });
    expect(budget.held).toBe(0);
  });

  it('without a length reserves room as it arrives, less than twice its size', async () => {
    const budget = new BodyBudget(() => 10_000_000);
    await receive(pieces(100_000, 'abc'), { budget });
    expect(budget.held).toBeGreaterThanOrEqual(300_000);
    expect(budget.held).toBeLessThan(600_000);
  });

  it('without an end is refused at the limit, or where the room ends', async () => {
    const long = pieces(1_000, ' '.repeat(1_000));
    await expect(receive(long, { most: 50_000 })).rejects.toMatchObject({ code: 'request_too_large' });
    const budget = new BodyBudget(() => 100_000);
    await expect(receive(long, { budget })).rejects.toMatchObject({ code: 'request_too_large' });
  });

  it('that is not as long as it was said is refused', async () => {
    await expect(receive([Buffer.from('abc')], { length: 4 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
    await expect(receive([Buffer.from('abc')], { length: 2 })).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });

  it('that is announced as too large is not read', async () => {
    await expect(receive([], { length: 101, most: 100 })).rejects.toMatchObject({
      code: 'request_too_large',
    });
  });
});
