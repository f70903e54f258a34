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

function intake() {
  const connection = new PassThrough();
  let delivered = 0;
  connection.on('data', (bytes: Buffer) => (delivered += bytes.length));
  const socket = Object.assign(new EventEmitter(), { pause: () => undefined, resume: () => undefined });
  const made = new FrameIntake(socket as unknown as WebSocket, connection, {
    tenant: 'a',
    budget: new BodyBudget(() => 100_000_000),
    mostBytes: () => 10_000_000,
    onFrame: () => Promise.resolve(),
    onRefused: (error) => {
      throw error;
    },
    onFlood: () => undefined,
  });
  return { connection, made, delivered: () => delivered };
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
