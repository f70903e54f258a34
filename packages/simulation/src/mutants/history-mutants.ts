import { mutants, type Patch, testedMechanisms } from '@sluice/system-tests/mutants';

/** A mechanism that is switched off. */
export interface Mutant {
  name: string;
  patch: Patch;
}

const store = 'packages/response-store/src';
const batches = 'packages/batches/src';
const transitions = `${store}/transitions`;

/** Mechanisms that other tests switch off as well, and whose loss a history can show. */
const knownElsewhere: ReadonlySet<string> = new Set([
  'a response whose output was seen runs again',
  'a claim does not ask whether the worker of a response lives',
  'nobody looks whether the caller of a response is gone',
  'what was accepted without a reply is not taken back',
  'nobody rescues what nobody looks after',
  'an append without an answer is not repeated',
  'a reader never looks into the log',
  'a refused or broken call is not followed by another',
  'nobody looks whether all of a long end is there',
  'a response that kills every worker may do so for ever',
  'nobody notices that the path to Redis is silent',
  'a claim that an outage kept from being given back stands',
  'what is taken back before it was accepted counts as taken back',
  'a command that Redis refuses counts as a defect of ours',
  'an upstream that limits us is not parked',
  'a caller who is still there is told that its response was cancelled',
  'a claim takes a place where there is none',
  'an end keeps its place',
  'the virtual time of a queue stands still',
  'a response costs its flow nothing',
  'a response that nobody has let in is left outside',
  'a response that has run before is left outside',
]);

/** Defects that the service has had, or could have, and that only a history shows. */
const ownMutants: readonly Mutant[] = [
  {
    name: 'a drain leaves what waits for a time or a place',
    patch: {
      file: 'packages/operator/src/queues/drain-queue.ts',
      find: "['worker', 'time', 'worker', 'claim'] as const",
      replace: "['worker'] as const",
    },
  },
  {
    name: 'a drain leaves what a worker has given back',
    patch: {
      file: 'packages/operator/src/queues/drain-queue.ts',
      find: "if (kind !== 'begun') return kind === 'ended';",
      replace: "return kind === 'ended';",
    },
  },
  {
    name: 'a pause is answered before its queue is paused',
    patch: {
      file: 'packages/operator/src/queues/operator-queues.ts',
      find: 'await this.#options.queue[verb](this.#known(queue));',
      replace: "if (verb === 'resume') await this.#options.queue[verb](this.#known(queue));",
    },
  },
  {
    name: 'an end leaves what was reserved of a budget',
    patch: {
      file: 'packages/admission/src/leave.lua',
      find: 'if f.reserved and used then settle_budgets',
      replace: 'if false then settle_budgets',
    },
  },
  {
    name: 'the order of a queue that begins with one that waits never expires',
    patch: {
      file: `${transitions}/accept.lua`,
      find: "redis.call('ZADD', fair, 'NX', 0, 'now')",
      replace: '',
    },
  },
  {
    name: 'a process of suspects fails while the store is away, and its response is blamed',
    patch: {
      file: 'apps/worker/src/attempt-runner.ts',
      find: 'await untilRedisTakes(() => this.#sealing.start(), signal);',
      replace: 'await this.#sealing.start();',
    },
  },
  {
    name: 'one worker rescues for all releases, and leaves alone what others have written',
    patch: {
      file: `${store}/record/keys.ts`,
      find: '`${prefix}rescuer:${recordVersion}`',
      replace: '`${prefix}rescuer`',
    },
  },
  {
    name: 'who divides limits over cells leaves those alone that only others know',
    patch: {
      file: 'packages/queue/src/slots/divided-limits.ts',
      find: 'new Map([...(await this.#told.read(told)), ...own])',
      replace: 'own',
    },
  },
  {
    name: 'endpoints are told of responses for which somebody waited',
    patch: {
      file: 'apps/worker/src/worker-webhooks.ts',
      find: 'return background && type ?',
      replace: 'return type ?',
    },
  },
  {
    name: 'the turns before a response are sent in the wrong order',
    patch: {
      file: `${store}/reading/read-context.ts`,
      find: 'turns: turns.toReversed()',
      replace: 'turns',
    },
  },
  {
    name: 'a response that continues others is sent the turns that a process keeps, and no others before them',
    patch: {
      file: `${store}/reading/read-context.ts`,
      find: '    if (found) continue;',
      replace: '    if (found) break;',
    },
  },
  {
    name: 'a process that goes on with a batch knows none of its results',
    patch: {
      file: `${batches}/result-files.ts`,
      find: 'if (result) await this.add(kind, result);',
      replace: '',
    },
  },
  {
    name: 'a process that has lost a batch goes on with it',
    patch: {
      file: `${batches}/batch-run.ts`,
      find: 'if (stored.runner !== runner || hasEnded(stored)) throw new BatchLost();',
      replace: 'if (hasEnded(stored)) throw new BatchLost();',
    },
  },
  {
    name: 'the response of a line is forgotten although another process may look for it',
    patch: { file: `${batches}/line-run.ts`, find: 'if (isHeld()) await', replace: 'await' },
  },
  {
    name: 'a line that was written in part is a result',
    patch: { file: `${batches}/result-files.ts`, find: 'text && isWhole ?', replace: 'text ?' },
  },
  {
    name: 'a batch that was looked at before it was stored never runs',
    patch: {
      file: `${batches}/batch-store.ts`,
      find: 'if (isAdded) await this.#open({ tenant, id });',
      replace: '',
    },
  },
  {
    name: 'a line waits for the response that another release has begun',
    patch: {
      file: 'apps/api/src/batches/api-line-server.ts',
      find: '`${request.idempotencyKey}:${recordVersion}`',
      replace: 'request.idempotencyKey',
    },
  },
  {
    name: 'a batch makes its files again under other names',
    patch: {
      file: `${batches}/batch-run.ts`,
      find: "batch.status === 'finalizing' ? batch : await",
      replace: 'await',
    },
  },
  {
    name: 'the last events leave before their end, and not with it',
    patch: { file: `${store}/event-writer.ts`, find: 'this.#isEnding = true;', replace: '' },
  },
  {
    name: 'an attempt appends behind the one that has replaced it',
    patch: {
      file: `${transitions}/append.lua`,
      find: "if f.token ~= token then return 'superseded' end",
      replace: '',
    },
  },
  {
    name: 'an append that is sent again is written twice',
    patch: { file: `${transitions}/append.lua`, find: 'if last > f.seq then', replace: 'if true then' },
  },
  {
    name: 'an attempt ends what another one runs',
    patch: {
      file: `${transitions}/finish.lua`,
      find: "if not is_mine then return 'superseded' end",
      replace: '',
    },
  },
  {
    name: 'an accept that is sent again counts twice',
    patch: { file: `${transitions}/accept.lua`, find: 'if known.accepted_at then', replace: 'if false then' },
  },
  {
    name: 'a key makes a response with each request',
    patch: { file: `${transitions}/accept.lua`, find: 'if held[1] then', replace: 'if false then' },
  },
  {
    name: 'a claim that is sent again counts twice',
    patch: {
      file: `${transitions}/claim.lua`,
      find: 'if f.counted == token then attempt = attempt - 1 end',
      replace: '',
    },
  },
  {
    name: 'a store that was away a moment ago has lost the claims of those who live',
    patch: { file: `${transitions}/claim.lua`, find: 'lease_ms < lapse_ms or ', replace: '' },
  },
  {
    name: 'an api whose lease has lapsed for a moment counts as dead',
    patch: {
      file: `${store}/fragments/absence.lua`,
      find: 'local watcher_lapse_ms = 2500',
      replace: 'local watcher_lapse_ms = 0',
    },
  },
  {
    name: 'a hole in the messages is not noticed',
    patch: {
      file: `${store}/delivery/subscription.ts`,
      find: 'if (event.sequenceNumber > next) {',
      replace: 'if (false) {',
    },
  },
  {
    name: 'an end that is written between two looks into the log hides the last events',
    patch: {
      file: `${store}/delivery/subscription.ts`,
      find: 'const rest = await this.#readPage();',
      replace: 'const rest: LoggedEvent[] = [];',
    },
  },
  {
    name: 'a job that is missing once is added again while its response is taken back',
    patch: {
      file: 'apps/worker/src/rescue-responses.ts',
      find: "if ((await this.#isPending(finding)) || !this.#wasSuspect(finding)) return 'left';",
      replace: "if (await this.#isPending(finding)) return 'left';",
    },
  },
  {
    name: 'what one caller was promised is taken back for another with the same key',
    patch: {
      file: `${transitions}/abandon.lua`,
      find: "if f.followed or f.enqueued then return { 'detached', f.status, started_at } end",
      replace: '',
    },
  },
  {
    name: 'a response that waits for its upstream keeps its place',
    patch: {
      file: `${transitions}/release.lua`,
      find: 'leave_place(load, f.tenant, f.queue, id)',
      replace: '',
    },
  },
  {
    name: 'a record stays after its end',
    patch: {
      file: `${transitions}/finish.lua`,
      find: "redis.call('PEXPIRE', record, record_ms)",
      replace: '',
    },
  },
  {
    name: 'limits are not set again in a store that was emptied',
    patch: { file: 'apps/worker/src/queue-limits.ts', find: 'await this.set();', replace: '' },
  },
  {
    name: 'who waits for what the store has lost is told of a defect',
    patch: {
      file: 'apps/api/src/responses/create-response.ts',
      find: 'throw responseGone();',
      replace: "throw new Error('the response is gone');",
    },
  },
];

/** Mechanisms whose loss only a history shows, or a history as well. */
export const historyMutants: readonly Mutant[] = [
  ...[...mutants, ...testedMechanisms].filter(({ name }) => knownElsewhere.has(name)),
  ...ownMutants,
];
