import { drainQueue } from '@sluice/api/drain-queue';
import type { Environment } from '@sluice/config';
import { queueName } from '@sluice/queue';
import { FatalError } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis } from '../load-with-redis.ts';

import { openOperator, type Operator } from './operator.ts';

export const queuesUsage = `Usage: sluice queues <command> [flags]

  list           shows each queue: what waits, what runs, and how long the next one has waited
  pause QUEUE    lets no worker take from it; what runs goes on, and what comes waits
  resume QUEUE   lets workers take from it again
  drain QUEUE    cancels everything that waits in it, and tells the callers; what runs goes on

  --yes          drain: does it; without it, says how many there are
  --json         list: prints one line of JSON for each queue
  --config FILE  the settings file of the service [SLUICE_CONFIG, ./sluice.yaml]

A queue has the name of its model, unless the settings give it another one. The commands reach Redis by REDIS_URL or the
settings file, and hold for every process of the service at once.`;

/** `sluice queues …`: what an operator does with whole queues. Needs the Redis of the service, and no running process. */
export async function runQueues(
  argv: readonly string[],
  place: { env: Environment; cwd: string },
): Promise<void> {
  const { values, positionals } = parseFlags('queues', argv, {
    yes: { type: 'boolean' },
    json: { type: 'boolean' },
    config: { type: 'string' },
  });
  const [command, queue, ...rest] = positionals;
  if (values.help || command === undefined) {
    console.log(queuesUsage);
    return;
  }
  if (rest.length > 0) throw badUsage('queues', `'${rest[0]}' is one argument too many`);
  await using operator = await openOperator(loadWithRedis(values.config, place));
  switch (command) {
    case 'list':
      if (queue !== undefined) throw badUsage('queues', "'list' takes no queue");
      return await list(operator, values.json ?? false);
    case 'pause':
      await pause(operator, known(operator, queue), true);
      console.log(`Paused '${queue}': no worker takes from it. 'sluice queues resume ${queue}' ends that.`);
      return;
    case 'resume':
      await pause(operator, known(operator, queue), false);
      console.log(`Resumed '${queue}'.`);
      return;
    case 'drain':
      return await drain(operator, known(operator, queue), values.yes ?? false);
    default:
      throw badUsage('queues', `there is no command '${command}'`);
  }
}

async function list({ queues, names }: Operator, json: boolean): Promise<void> {
  const width = Math.max(5, ...names.map(({ length }) => length));
  if (!json) console.log(`${'queue'.padEnd(width)}  ${'state'.padEnd(7)}  waiting   active  next one waits`);
  for (const name of names) {
    const { waiting, active, isPaused, oldestWaitMs } = await queues.backlog(queueName(name));
    const state = isPaused ? 'paused' : 'open';
    if (json) {
      console.log(
        JSON.stringify({
          queue: name,
          state,
          waiting,
          active,
          oldest_waiting_seconds: (oldestWaitMs ?? 0) / 1000,
        }),
      );
    } else {
      const wait = oldestWaitMs === undefined ? '-' : `${(oldestWaitMs / 1000).toFixed(1)} s`;
      const [waits, runs] = [waiting, active].map((count) => String(count).padStart(7));
      console.log(`${name.padEnd(width)}  ${state.padEnd(7)}  ${waits}  ${runs}  ${wait}`);
    }
  }
}

async function pause({ queues, telemetry }: Operator, name: string, isPaused: boolean): Promise<void> {
  await (isPaused ? queues.pause(name) : queues.resume(name));
  telemetry.emit('queue.paused', { queue: decodeURIComponent(name), isPaused });
}

async function drain(operator: Operator, name: string, isSure: boolean): Promise<void> {
  const { waiting } = await operator.queues.backlog(name);
  if (!isSure) {
    console.log(`${waiting} would be cancelled. Add --yes to do it.`);
    return;
  }
  const { stderr } = process;
  const done = await drainQueue(operator, name, (cancelled) => {
    if (stderr.isTTY) stderr.write(`\rcancelled ${cancelled} of ${waiting}`);
  });
  if (stderr.isTTY) stderr.write('\r\u001b[K');
  console.log(`Cancelled ${done}.`);
}

function known({ names }: Operator, queue: string | undefined): string {
  if (queue === undefined) throw badUsage('queues', 'name a queue');
  if (!names.includes(queue)) {
    throw new FatalError(`There is no queue '${queue}' in the settings: there are ${names.join(', ')}.`);
  }
  return queueName(queue);
}
