import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as breathe } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { BodyBudget } from '../bodies/body-budget.ts';
import { FrameIntake } from './frame-intake.ts';

beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
afterEach(() => vi.useRealTimers());

/** A text message in so many fragments of a byte. */
function fragments(count: number): Buffer {
  const frames = Array.from({ length: count }, (_, at) => {
    const opcode = (at === 0 ? 1 : 0) | (at === count - 1 ? 0x80 : 0);
    return Buffer.from([opcode, 0x81, 0, 0, 0, 0, 0x20]);
  });
  return Buffer.concat(frames);
}

/** The first fragment of a message, as long as it says. */
function beginning(length: number): Buffer {
  const frame = Buffer.alloc(14 + length);
  frame.set([0x01, 0xff]);
  frame.writeBigUInt64BE(BigInt(length), 2);
  return frame;
}

const closeFrame = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
const brokenFrame = Buffer.from([0xff, 0x80, 0, 0, 0, 0]);

function intake({ onRefused }: { onRefused?: (error: unknown) => void } = {}) {
  const budget = new BodyBudget(() => 100_000_000);
  const connection = new PassThrough();
  let delivered = 0;
  connection.on('data', (bytes: Buffer) => (delivered += bytes.length));
  const socket = Object.assign(new EventEmitter(), { pause: () => undefined, resume: () => undefined });
  const made = new FrameIntake(socket as unknown as WebSocket, connection, {
    tenant: 'a',
    budget,
    mostBytes: () => 10_000_000,
    onFrame: () => Promise.resolve(),
    onRefused:
      onRefused ??
      ((error) => {
        throw error;
      }),
    onFlood: () => undefined,
  });
  return { connection, made, budget, delivered: () => delivered };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await breathe();
}

it('reads a message of some fragments in the turns that come', async () => {
  const { connection, delivered } = intake();
  connection.write(fragments(64));
  await turns(20);
  expect(delivered()).toBeGreaterThan(64);
});

it('rests between the turns of a message of many fragments', async () => {
  const { connection, delivered } = intake();
  connection.write(fragments(1_000));
  await turns(200);
  expect(delivered()).toBe(0);
  for (let rest = 0; delivered() === 0; rest += 1) {
    expect(rest).toBeLessThan(100);
    await vi.advanceTimersByTimeAsync(4);
  }
  expect(delivered()).toBeGreaterThan(1_000);
  // The next one is none of many.
  connection.write(fragments(64));
  await turns(20);
  expect(delivered()).toBeGreaterThan(1_000 + 64);
});

it.each([
  ['a close', closeFrame],
  ['a broken frame', brokenFrame],
  ['more than a message may have', beginning(20_000_000).subarray(0, 14)],
])('keeps nothing of a message that was cut off by %s', async (_what, frame) => {
  const { connection, made, budget } = intake({ onRefused: () => undefined });
  connection.write(beginning(1_000_000));
  await turns(5);
  expect(made.unfinished).toBeGreaterThan(0);
  expect(budget.held).toBeGreaterThanOrEqual(1_000_000);
  connection.write(frame);
  await turns(5);
  // The client keeps the connection open, and what no longer counts against the budget must be gone.
  expect([made.unfinished, budget.held]).toEqual([0, 0]);
});
