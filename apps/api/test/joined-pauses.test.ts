import { queueName } from '@sluice/queue';
import { eventually } from '@sluice/testing';
import { expect, it } from 'vitest';
import { oneTestApi } from './kept-api.ts';
import { model } from './test-api.ts';

const api = oneTestApi({ withoutWorker: true });

it('pauses and resumes in a cell that joins what an operator pauses and resumes meanwhile', async () => {
  const asker = { address: '127.0.0.1' };
  const url = new URL(api.redis.url);
  url.searchParams.set('cell', 'E');
  // The cell stays closed as long as this worker has not reached it.
  await api.cellProcesses.note('a worker', 'worker', []);
  api.operator.start();
  await api.cellChanges.add(url.href);
  const cell = api.cells.get('E');
  await eventually(() => cell?.clients.commands.status === 'ready');
  const pausesInIt = async () => (await cell?.queue.pausedNames()) ?? [];
  await api.operator.queues.pause(model, asker);
  await eventually(async () => (await pausesInIt()).includes(queueName(model)));
  await api.operator.queues.resume(model, asker);
  await eventually(async () => (await pausesInIt()).length === 0);
  await api.operator.queues.pause('other', asker);
  await eventually(async () => (await pausesInIt()).includes('other'));
  expect(api.states.of('E')).toBe('joining');
});
