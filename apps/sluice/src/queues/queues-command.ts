import { drainQueue } from '@sluice/operator';
import { queueName } from '@sluice/queue';
import { FatalError } from '@sluice/runtime';
import { badUsage, parseFlags } from '../command-flags.ts';
import { loadWithRedis, serviceFlags, serviceFlagsUsage } from '../load-with-redis.ts';
import type { Surroundings } from '../service-sources.ts';
import { openOperator, type Operator } from './operator.ts';

export const queuesUsage = `Usage: sluice queues <command> [flags]

  list           shows each queue, and each that no model has any more in which something is left: how many wait and run, and how
                 long the next one has waited
  pause QUEUE    lets no worker take from it; running responses go on, and new ones wait
  resume QUEUE   lets workers take from it again
  drain QUEUE    cancels everything that waits in it, and tells the callers; running responses go on

  --yes           drain: does it; without it, says how many there are
  --json          prints one line of JSON for each queue
${serviceFlagsUsage}

A queue has the name of its model, unless the settings give it another one. That of a model that was removed can be named, too, as long as
something is in it. The commands reach Redis by REDIS_URL, by the settings
file, or as the service does that runs with the data folder, and hold for every process of the service at once.`;

/** `sluice queues …`: the acts of an operator on whole queues. Needs the Redis of the service, and no running process. */
export async function runQueues(argv: readonly string[], place: Surroundings): Promise<void> {
  const { values, positionals } = parseFlags('queues', argv, {
    yes: { type: 'boolean' },
    json: { type: 'boolean' },
    ...serviceFlags,
  });
  const [command, queue, ...rest] = positionals;
  if (values.help || command === undefined) {
    console.log(queuesUsage);
    return;
  }
  if (rest.length > 0) throw badUsage('queues', `'${rest[0]}' is one argument too many`);
  const json = values.json ?? false;
  await using operator = await openOperator(loadWithRedis(values, place));
  switch (command) {
    case 'list':
      if (queue !== undefined) throw badUsage('queues', "'list' takes no queue");
      return await list(operator, json);
    case 'pause':
      await pause(operator, await known(operator, queue), true);
      if (json) return console.log(JSON.stringify({ queue, state: 'paused' }));
      console.log(`Paused '${queue}': no worker takes from it. 'sluice queues resume ${queue}' ends that.`);
      return;
    case 'resume':
      await pause(operator, await known(operator, queue), false);
      console.log(json ? JSON.stringify({ queue, state: 'open' }) : `Resumed '${queue}'.`);
      return;
    case 'drain':
      return await drain(operator, await known(operator, queue), { isSure: values.yes ?? false, json });
    default:
      throw badUsage('queues', `there is no command '${command}'`);
  }
}

async function list(operator: Operator, json: boolean): Promise<void> {
  const { queues } = operator;
  const names = [...operator.names, ...(await leftQueues(operator))];
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

/** The queues that no model has any more and in which something is left. A cell that is away hides nothing of the others. */
async function leftQueues({ cells, store, queues, names }: Operator): Promise<string[]> {
  const read = await Promise.allSettled(cells.all.map(async ({ name }) => store.openQueues(name)));
  const found = new Set(read.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])));
  for (const name of names) found.delete(queueName(name));
  const left: string[] = [];
  for (const name of found) {
    const { waiting, active } = await queues.backlog(name);
    if (waiting + active > 0) left.push(decodeURIComponent(name));
  }
  return left.toSorted();
}

async function pause({ queues, telemetry }: Operator, name: string, isPaused: boolean): Promise<void> {
  await (isPaused ? queues.pause(name) : queues.resume(name));
  telemetry.emit('queue.paused', { queue: decodeURIComponent(name), isPaused });
}

async function drain(
  operator: Operator,
  name: string,
  { isSure, json }: { isSure: boolean; json: boolean },
): Promise<void> {
  const { store, queues } = operator;
  const { waiting } = await queues.backlog(name);
  const queue = decodeURIComponent(name);
  if (!isSure) {
    console.log(
      json
        ? JSON.stringify({ queue, waiting, cancelled: 0 })
        : `${waiting} would be cancelled. Add --yes to do it.`,
    );
    return;
  }
  const { stderr } = process;
  const done = await drainQueue({ store, queue: queues }, name, (cancelled) => {
    if (stderr.isTTY) stderr.write(`\rcancelled ${cancelled} of ${waiting}`);
  });
  if (stderr.isTTY) stderr.write('\r\u001b[K');
  console.log(json ? JSON.stringify({ queue, waiting, cancelled: done }) : `Cancelled ${done}.`);
}

/** The encoded name of a queue of the settings, or of one in which something is left, as of a model that was removed. */
async function known({ names, queues }: Operator, queue: string | undefined): Promise<string> {
  if (queue === undefined) throw badUsage('queues', 'name a queue');
  const name = queueName(queue);
  if (names.includes(queue)) return name;
  const { waiting, active } = await queues.backlog(name);
  if (waiting + active > 0) return name;
  throw new FatalError(`There is no queue '${queue}' in the settings: there are ${names.join(', ')}.`);
}
