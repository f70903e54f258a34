import { facetsOf, JournalReader, listRows, countRows, storyOf, subjectsOf } from '@sluice/journal';
import { ResponseStore, responseStores } from '@sluice/response-store';
import { closeRedis, commandClient, createLogger, parseRedisCells, waitForRedis } from '@sluice/runtime';
import { parentPort, workerData } from 'node:worker_threads';
import { JournalIndex } from './journal-index.ts';
import type { FromIndex, IndexThreadData, ToIndex } from './messages.ts';
import { RowFollowers } from './row-followers.ts';

/** The first connection is waited for this long, in milliseconds: the first question waits with it. */
const connectWithinMs = 1_000;

// The index of an api process over the responses of all tenants, beside the event loop that serves requests, over a
// connection of its own. It ends with the process, or when `ResponseIndex` ends it.
const { redisUrl, keyPrefix, keep, healEveryMs } = workerData as IndexThreadData; // as `ResponseIndex` gives it
const tell = (message: FromIndex) => parentPort?.postMessage(message);
// The process itself says when the store is away.
const logger = createLogger({ name: 'api', level: 'silent' });
const cells = parseRedisCells(redisUrl).map(({ name, url }) => {
  const commands = commandClient(url, { logger, connectionName: 'sluice-index' });
  const retention = { responseSeconds: 0, eventLogSeconds: 0 };
  // Only summaries are read, without their large requests.
  const store = new ResponseStore({ commands, largeValues: commands, keyPrefix, cells: [name], retention });
  return { name, commands, store };
});
const [first] = cells;
if (!first) throw new RangeError('There is no cell');
const store = responseStores(keyPrefix, new Map(cells.map((cell) => [cell.name, cell.store])));
// The journal of all cells is in the first one.
const reader = new JournalReader({
  connection: first.commands,
  keyPrefix: store.keys.inCell(first.name).prefix,
});
const index: JournalIndex = new JournalIndex({
  reader,
  store,
  keep,
  healEveryMs,
  onChange: (row, before) => followers.note(row, before),
  onLook: () => followers.tell(),
});
const followers = new RowFollowers({
  table: index.table,
  onNews: (number, news) => tell({ kind: 'news', number, news }),
});
const started = start();
parentPort?.on('message', (message: ToIndex) => {
  started
    .then(() => take(message))
    .catch((error: unknown) =>
      queueMicrotask(() => {
        throw error;
      }),
    );
});

async function start(): Promise<void> {
  const soon = AbortSignal.timeout(connectWithinMs);
  await Promise.all(cells.map(({ commands }) => waitForRedis(commands, soon).catch(() => undefined)));
  await index.start();
}

async function take(message: ToIndex): Promise<void> {
  switch (message.kind) {
    case 'stop':
      await index.stop();
      await Promise.all(cells.map(({ commands }) => closeRedis(commands)));
      parentPort?.close();
      return;
    case 'follow':
      followers.add(message.number, message.filter);
      return;
    case 'unfollow':
      followers.delete(message.number);
      return;
    default:
      answer(message);
  }
}

function answer(question: Exclude<ToIndex, { kind: 'stop' | 'follow' | 'unfollow' }>): void {
  const { number } = question;
  if (index.hasBegun) tell({ kind: 'answer', number, state: index.state, value: answerTo(question) });
  else tell({ kind: 'no_answer', number });
}

function answerTo(question: Exclude<ToIndex, { kind: 'stop' | 'follow' | 'unfollow' }>): unknown {
  const { table, pauses } = index;
  switch (question.kind) {
    case 'list':
      return listRows(table, question.filter, question);
    case 'facets':
      return facetsOf(table, question.filter, question);
    case 'count':
      return countRows(table, question.filter);
    case 'ids':
      return subjectsOf(table, question.filter).join(' ');
    case 'story':
      return storyOf(table, question.subject, {
        ...question.facts,
        pausesOf: (queue) => pauses.of(queue),
      });
  }
}
