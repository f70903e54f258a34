import { LineLeft } from '@sluice/batches';
import { recordVersion } from '@sluice/response-store';
import { createLogger } from '@sluice/runtime';
import { latch } from '@sluice/testing';
import { expect, it } from 'vitest';
import { BodyBudget } from '../bodies/body-budget.ts';
import { ApiLineServer, type ApiLineServerOptions } from './api-line-server.ts';

const owner = { tenant: 'team-a', key: 'a1b2c3d4e5f60718' };

/** A server of lines over these responses, whose lines all ask for `request`. */
function serverOver(responses: object, request: object = {}): ApiLineServer {
  const stubs: unknown = {
    json: { prepare: () => ({ request: { model: 'm', ...request }, input: Buffer.from('{}') }) },
    live: { keys: { findByHash: () => ({ name: owner.tenant }), isComplete: true } },
    slack: { enter: () => Promise.resolve(() => undefined) },
    responses: { directory: { find: () => ({ queue: 'm' }) }, ...responses },
    bodyBudget: new BodyBudget(() => 1_000_000),
    logger: createLogger({ name: 'test', level: 'silent' }),
  };
  return new ApiLineServer(stubs as ApiLineServerOptions);
}

it('A line of a batch that is cancelled is cancelled again when the reply to that was lost', async () => {
  const ending = new AbortController();
  const cancelled = latch();
  const asked: string[] = [];
  const server = serverOver({
    isKeyTaken: () => Promise.resolve(true),
    create: {
      async whole(_caller: unknown, { onAccepted }: { onAccepted: (accepted: object) => void }) {
        onAccepted({ responseId: 'resp_1' });
        ending.abort();
        await cancelled.wait();
        return { kind: 'left' };
      },
    },
    endUntold(id: string) {
      asked.push(id);
      if (asked.length === 1) return Promise.reject(new Error('Command timed out'));
      cancelled.open();
      return Promise.resolve();
    },
  });
  const running = server.run(
    owner,
    { endpoint: '/v1/responses', body: new Uint8Array(), isKept: false, idempotencyKey: 'batch_1:1' },
    { leaving: new AbortController().signal, ending: ending.signal },
  );
  await expect(running).rejects.toThrow(LineLeft);
  expect(asked).toEqual(['resp_1', 'resp_1']);
});

it('A line of a batch that is cancelled already is cancelled where a process before had it accepted, and does not begin', async () => {
  const asked: string[] = [];
  const cancelled: string[] = [];
  const responses = {
    isKeyTaken: (_tenant: string, key: string, previousId: string) =>
      Promise.resolve(key === `batch_1:1:${recordVersion}` && previousId === 'resp_0'),
    create: {
      whole(
        _caller: unknown,
        { idempotencyKey, onAccepted }: { idempotencyKey: string; onAccepted: (accepted: object) => void },
      ) {
        asked.push(idempotencyKey);
        onAccepted({ responseId: 'resp_1' });
        return Promise.resolve({ kind: 'left' });
      },
    },
    endUntold: (id: string) => Promise.resolve(void cancelled.push(id)),
  };
  const server = serverOver(responses, { previous_response_id: 'resp_0' });
  const signals = { leaving: new AbortController().signal, ending: AbortSignal.abort() };
  for (const idempotencyKey of ['batch_1:1', 'batch_1:2']) {
    const line = {
      endpoint: '/v1/responses',
      body: new Uint8Array(),
      isKept: false,
      idempotencyKey,
    } as const;
    await expect(server.run(owner, line, signals)).rejects.toThrow(LineLeft);
  }
  expect({ asked, cancelled }).toEqual({ asked: [`batch_1:1:${recordVersion}`], cancelled: ['resp_1'] });
});

it('A line of a batch holds its answer until its result is written', async () => {
  let freed = 0;
  const response = { id: 'resp_1', status: 'failed', error: { code: 'server_error', message: 'Failed.' } };
  const answer = { response, free: () => void (freed += 1) };
  const server = serverOver({ create: { whole: () => Promise.resolve({ kind: 'ended', answer }) } });
  const never = new AbortController().signal;
  const { status, free } = await server.run(
    owner,
    { endpoint: '/v1/responses', body: new Uint8Array(), isKept: true, idempotencyKey: 'batch_1:1' },
    { leaving: never, ending: never },
  );
  expect([status, freed]).toEqual([500, 0]);
  free?.();
  expect(freed).toBe(1);
});
