import type { Patch } from '@sluice/testing';

/** A mechanism that is switched off in a copy of the sources, and the tests that must fail then. */
export interface TestedMechanism {
  /** What is missing. */
  name: string;
  patch: Patch;
  /** Files of tests, below the root of the workspace. At least one test in them must fail. */
  tests: string;
}

const admission = 'packages/admission';
const api = 'apps/api';
const worker = 'apps/worker';
const store = 'packages/response-store';
const runtime = 'packages/runtime';

/** Mechanisms whose failure needs no killed process to be seen. Those that do are in `mutants.ts`. */
export const testedMechanisms: readonly TestedMechanism[] = [
  {
    name: 'a body is parsed before anything in it is counted',
    patch: {
      file: `${api}/src/bodies/parse-json.ts`,
      find: "if (scan.kind === 'refused') throw",
      replace: 'if (false) throw',
    },
    tests: `${api}/src/bodies/parse-json.test.ts`,
  },
  {
    name: 'one tenant may have all bytes in flight',
    patch: {
      file: `${api}/src/bodies/body-budget.ts`,
      find: 'if ((this.#heldBy.get(tenant) ?? 0) + bytes > most / 2)',
      replace: 'if (false)',
    },
    tests: `${api}/test/limits.test.ts`,
  },
  {
    name: 'one tenant may hold all inputs of a worker',
    patch: {
      file: `${worker}/src/input-budget.ts`,
      find: 'if (ofTenant > this.#share) return false;',
      replace: '',
    },
    tests: `${worker}/src/input-budget.test.ts`,
  },
  {
    name: 'one tenant may have all requests that are open',
    patch: {
      file: `${api}/src/open-requests.ts`,
      find: 'own >= this.#mostCallers / 2',
      replace: 'own >= this.#mostCallers',
    },
    tests: `${api}/test/limits.test.ts`,
  },
  {
    name: 'one tenant may have all threads that read JSON',
    patch: {
      file: `${admission}/src/thread-pool.ts`,
      find: 'Math.max(1, this.#options.threads - 1)',
      replace: 'this.#options.threads',
    },
    tests: `${api}/test/json-threads.test.ts`,
  },
  {
    name: 'what is read of stored inputs is not counted',
    patch: {
      file: `${api}/src/responses/stored-items.ts`,
      find: 'reserve(part.bytes);',
      replace: '',
    },
    tests: `${api}/test/references.test.ts`,
  },
  {
    name: 'an answer that is not read is not counted',
    patch: {
      file: `${api}/src/plugins/unread-answers.ts`,
      find: 'held?.grow(ownBytes);',
      replace: '',
    },
    tests: `${api}/test/unread-answers.test.ts`,
  },
  {
    name: 'a caller that waits holds its long instructions',
    patch: {
      file: `${api}/src/responses/accepted-response.ts`,
      find: 'largeBytes > 0 ? undefined : response',
      replace: 'response',
    },
    tests: `${api}/src/responses/accepted-response.test.ts`,
  },
  {
    name: 'a page of responses has no bound in bytes',
    patch: {
      file: `${store}/src/reading/list-stored.ts`,
      find: 'this.#bytes > pageBytes',
      replace: 'false',
    },
    tests: `${store}/test/list-stored.test.ts`,
  },
  {
    name: 'a caller who is still there is told that its response was cancelled',
    patch: {
      file: `${api}/src/responses/answer.ts`,
      find: 'throw touchLost();',
      replace: 'void touchLost;',
    },
    tests: `${api}/test/lost-touch.test.ts`,
  },
  {
    name: 'an accept does not look at the chain before it',
    patch: {
      file: `${store}/src/transitions/accept.lua`,
      find: "if turns_before > most_context_turns then return { 'context_too_long' } end",
      replace: '',
    },
    tests: `${api}/test/references.test.ts`,
  },
  {
    name: 'items are read whatever their size is',
    patch: {
      file: `${store}/src/reading/item-parts.ts`,
      find: 'bytes > limits.bytes ?',
      replace: 'false ?',
    },
    tests: `${api}/test/references.test.ts ${store}/test/context.test.ts`,
  },
  {
    name: 'large values go with the commands of everybody',
    patch: {
      file: `${store}/src/large-values.ts`,
      find: 'export const largeFrom = 64 * 1024;',
      replace: 'export const largeFrom = Number.MAX_SAFE_INTEGER;',
    },
    tests: `${store}/test/large-values.test.ts`,
  },
  {
    name: 'nobody looks whether all of a long end is there',
    patch: {
      file: `${store}/src/transitions/finish.lua`,
      find: "if end_bytes and redis.call('STRLEN', written) ~= end_bytes then return 'lost' end",
      replace: '',
    },
    tests: `${store}/test/event-writer.test.ts`,
  },
  {
    name: 'nobody looks whether all of a long event is there',
    patch: {
      file: `${store}/src/fragments/long-events.lua`,
      find: "if redis.call('STRLEN', log .. ':' .. name) ~= length then return nil end",
      replace: '',
    },
    tests: `${store}/test/long-events.test.ts`,
  },
  {
    name: 'a response that kills every worker may do so for ever',
    patch: {
      file: `${store}/src/transitions/claim.ts`,
      find: 'export const mostLosses = 3;',
      replace: 'export const mostLosses = 1_000;',
    },
    tests: `${store}/test/life-cycle.test.ts ${worker}/test/worker.test.ts`,
  },
  {
    name: 'an answer of a model has no bounds',
    patch: {
      file: `${worker}/src/output-meter.ts`,
      find: 'if (amount <= limit) return;',
      replace: 'return;',
    },
    tests: `${worker}/src/execute-response.test.ts ${worker}/test/worker.test.ts`,
  },
  {
    name: 'a large end is told to those who wait in one message',
    patch: {
      file: `${store}/src/fragments/watchers.lua`,
      find: 'local most_bytes = 65536',
      replace: 'local most_bytes = 1e12',
    },
    tests: `${store}/test/large-news.test.ts`,
  },
  {
    name: 'an answer that nobody reads is kept for ever',
    patch: {
      file: `${api}/src/plugins/unread-answers.ts`,
      find: 'answer.idleLooks += 1;',
      replace: '',
    },
    tests: `${api}/test/unread-answers.test.ts`,
  },
  {
    name: 'nobody notices that the path to Redis is silent',
    patch: {
      file: `${runtime}/src/redis-heartbeat.ts`,
      find: 'silentLooks >= deadAfterLooks',
      replace: 'false',
    },
    tests: `${runtime}/test/redis-heartbeat.test.ts`,
  },
  {
    name: 'a connection stays on a server that has become a replica',
    patch: {
      file: `${runtime}/src/redis-primary.ts`,
      find: "info.role === undefined || info.role === 'master'",
      replace: 'true',
    },
    tests: `${runtime}/test/redis-watch.test.ts`,
  },
  {
    name: 'a worker that takes nothing from a full queue goes on',
    patch: {
      file: 'packages/queue/src/queue-watchdog.ts',
      find: 'now() - still.since >= stuckAfterMs',
      replace: 'false',
    },
    tests: 'packages/queue/src/queue-watchdog.test.ts',
  },
  {
    name: 'steps that must reach the store have no bound',
    patch: {
      file: `${api}/src/responses/unanswered-steps.ts`,
      find: 'return this.#waiting.size >= this.#mostWaiting;',
      replace: 'return false;',
    },
    tests: `${api}/src/responses/accept-response.test.ts ${api}/src/responses/unanswered-steps.test.ts`,
  },
  {
    name: 'a claim that an outage kept from being given back stands',
    patch: {
      file: `${worker}/src/running-attempts.ts`,
      find: 'if (this.#releases.size < mostReleases) this.#releases.set(id, ofResponse);',
      replace: '',
    },
    tests: `${worker}/src/running-attempts.test.ts`,
  },
  {
    name: 'a reply that was lost is not asked for again',
    patch: {
      file: `${runtime}/src/repeat-unanswered.ts`,
      find: 'if (!isReplyMissing(error) || isFinal(error)) throw error;',
      replace: 'throw error;',
    },
    tests: `${api}/test/lost-replies.test.ts`,
  },
  {
    name: 'what is taken back before it was accepted counts as taken back',
    patch: {
      file: `${store}/src/transitions/abandon.lua`,
      find: "now_ms() > deadline and 'missing' or 'undecided'",
      replace: "'missing'",
    },
    tests: `${store}/test/life-cycle.test.ts ${api}/test/lost-replies.test.ts`,
  },
  {
    name: 'an accept that comes late is carried out',
    patch: {
      file: `${store}/src/transitions/accept.lua`,
      find: "if now > deadline then return { 'too_late' } end",
      replace: '',
    },
    tests: `${store}/test/accept.test.ts`,
  },
  {
    name: 'a command that Redis refuses counts as a defect of ours',
    patch: {
      file: `${runtime}/src/redis-failure.ts`,
      find: 'return refusals.test(reply) ||',
      replace: 'return',
    },
    tests: `${api}/test/store-refuses.test.ts`,
  },
  {
    name: 'nobody waits for the durability that was asked for',
    patch: {
      file: `${store}/src/caller-store.ts`,
      find: 'return await this.#barrier.reached();',
      replace: 'return true;',
    },
    tests: `${api}/test/durability-replica.test.ts`,
  },
  {
    name: 'an upstream that is down is called as ever',
    patch: {
      file: `${worker}/src/circuit-breaker.ts`,
      find: 'if (!this.admits) return undefined;',
      replace: '',
    },
    tests: `${worker}/src/circuit-breaker.test.ts`,
  },
  {
    name: 'an upstream that limits us is not parked',
    patch: {
      file: `${worker}/src/parked-route.ts`,
      find: 'this.#until = Math.max(this.#until, now() + parkMs);',
      replace: '',
    },
    tests: `${worker}/src/parked-route.test.ts`,
  },
  {
    name: 'a response may be handed over for ever',
    patch: {
      file: `${store}/src/transitions/release.lua`,
      find: '(f.hand_overs or 0) >= most_hand_overs',
      replace: 'false',
    },
    tests: `${store}/test/life-cycle.test.ts ${worker}/test/response-log.test.ts`,
  },
  {
    name: 'a caller who cannot come back keeps its grace',
    patch: {
      file: `${api}/src/responses/early-ends.ts`,
      find: "departure === 'interrupted' && canReturn",
      replace: "departure === 'interrupted'",
    },
    tests: `${api}/test/drain.test.ts`,
  },
  {
    name: 'a bad settings file takes effect',
    patch: {
      file: 'packages/config/src/settings-watch.ts',
      find: 'if (settings.isFileBlank && !before.isFileBlank)',
      replace: 'if (false)',
    },
    tests: 'packages/config/src/settings-watch.test.ts',
  },
  {
    name: 'wrong keys may be tried at any rate',
    patch: {
      file: `${runtime}/src/failed-logins.ts`,
      find: 'const mostFailures = 20;',
      replace: 'const mostFailures = 1e9;',
    },
    tests: `${runtime}/src/failed-logins.test.ts`,
  },
  {
    name: 'the rescue ends what another release has accepted',
    patch: {
      file: `${store}/src/rescue/survey.lua`,
      find: 'elseif f.version ~= VERSION then',
      replace: 'elseif false then',
    },
    tests: `${store}/test/life-cycle.test.ts`,
  },
  {
    name: 'a cancellation touches what another release has accepted',
    patch: {
      file: `${store}/src/transitions/cancel.lua`,
      find: "if f.version ~= VERSION then return { 'unknown_version', '' } end",
      replace: '',
    },
    tests: `${store}/test/life-cycle.test.ts`,
  },
  {
    name: 'a claim takes a place where there is none',
    patch: { file: `${admission}/src/lines.lua`, find: 'if count >= most then', replace: 'if false then' },
    tests: `${store}/test/places.test.ts`,
  },
  {
    name: 'an end keeps its place',
    patch: {
      file: `${admission}/src/lines.lua`,
      find: "redis.call('SREM', running_key(load, tenant), id)",
      replace: '',
    },
    tests: `${store}/test/places.test.ts`,
  },
  {
    name: 'the virtual time of a queue stands still',
    patch: {
      file: `${admission}/src/fair-queue.lua`,
      find: "if tag then redis.call('ZADD'",
      replace: "if false then redis.call('ZADD'",
    },
    tests: `${store}/test/fair-order.test.ts`,
  },
  {
    name: 'a response costs its flow nothing',
    patch: {
      file: `${admission}/src/fair-queue.lua`,
      find: "redis.call('ZADD', fair, tag + cost, flow)",
      replace: "redis.call('ZADD', fair, tag, flow)",
    },
    tests: `${store}/test/fair-order.test.ts`,
  },
  {
    name: 'who comes while a queue is renumbered gets an old number',
    patch: {
      file: `${admission}/src/fair-queue.lua`,
      find: 'if number < tonumber(f[1]) then',
      replace: 'if false then',
    },
    tests: `${store}/test/fair-order.test.ts`,
  },
  {
    name: 'tokens that were not used stay reserved',
    patch: {
      file: `${admission}/src/leave.lua`,
      find: 'if f.tokens and used then',
      replace: 'if false then',
    },
    tests: `${store}/test/tokens.test.ts`,
  },
  {
    name: 'tokens are reserved without a look at the limit',
    patch: { file: `${admission}/src/enter.lua`, find: 'sum + amount <= limit', replace: 'true' },
    tests: `${store}/test/tokens.test.ts`,
  },
  {
    name: 'a response that nobody has let in is left outside',
    patch: {
      file: `${store}/src/rescue/survey.lua`,
      find: 'is_left_out(record, f, id, true)',
      replace: 'false',
    },
    tests: `${store}/test/places.test.ts`,
  },
  {
    name: 'a response that has run before is left outside',
    patch: {
      file: `${store}/src/rescue/survey.lua`,
      find: 'is_left_out(record, f, id, false)',
      replace: 'false',
    },
    tests: `${store}/test/places.test.ts`,
  },
  {
    name: 'new work is taken while the store is nearly full',
    patch: {
      file: `${api}/src/responses/accept-response.ts`,
      find: 'if (memory.usedPercent >= limits.redisMemoryPercent)',
      replace: 'if (false)',
    },
    tests: `${api}/test/limits.test.ts`,
  },
  {
    name: 'a tenant stores as much as there is',
    patch: {
      file: 'packages/admission/src/enter.lua',
      find: 'elseif limits.stored_bytes and held.sum + bytes > limits.stored_bytes then',
      replace: 'elseif false then',
    },
    tests: `${api}/test/stored-bytes.test.ts`,
  },
];
