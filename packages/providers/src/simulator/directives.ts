import { type FailureCode, isFailureCode } from '@sluice/contract';

/**
 * Directives by which a request controls the simulator, so that authors of clients can test how these cope.
 *
 * Directives are written in the last user text, in double brackets: `[[sluice: name=value name=value]]`. Several
 * brackets count as one. The simulator removes them from the text before it answers, and ignores unknown names and
 * values.
 *
 * | directive | effect |
 * | --- | --- |
 * | `tokens=200` | the answer has this many tokens, which are its deltas (1 to 1,000,000) |
 * | `first_token_ms=50` | the delay before the first chunk, in place of the setting |
 * | `tokens_per_second=20` | the speed; 0 is as fast as possible |
 * | `fail=upstream_error` | the attempt fails with this code, which must be one of a failed response |
 * | `after=3` | with `fail` or `hang`: after this many tokens of the answer; 0 by default |
 * | `fail_attempts=1` | `fail` only in the first attempts, up to this number, and always worth a retry |
 * | `hang` | nothing more comes until the call is aborted |
 * | `refuse` | the model refuses: a refusal in place of the text |
 * | `stop=content_filter` | how the answer ends: `stop`, `content_filter` or `max_output_tokens` |
 * | `break=schema` | the answer breaks a promise of the request; see `BreakablePromise` |
 * | `break_attempts=1` | `break` only in the first attempts, up to this number |
 *
 * Without `fail_attempts`, the code decides whether a retry is worth it, and the retry fails as well.
 */
export interface SimulatorDirectives {
  tokens?: number;
  firstTokenMs?: number;
  tokensPerSecond?: number;
  fail?: FailureCode;
  after: number;
  failAttempts?: number;
  hang: boolean;
  refuse: boolean;
  stop?: 'stop' | 'content_filter' | 'max_output_tokens';
  break?: BreakablePromise;
  breakAttempts?: number;
}

/**
 * The promises that an answer can break.
 *
 * - `tool_choice`: no call where one is demanded; otherwise one of a tool that may not be called
 * - `parallel_calls`: several calls, whether or not they are allowed
 * - `json`: arguments, or an output in JSON, that are cut in the middle
 * - `schema`: arguments, or an output in JSON, that do not satisfy their schema
 */
export type BreakablePromise = (typeof breakablePromises)[number];

const breakablePromises = ['tool_choice', 'parallel_calls', 'json', 'schema'] as const;

const maxTokens = 1_000_000;
const maxDelayMs = 3_600_000;
// Brackets are not allowed inside, so an unclosed directive cannot make the search quadratic.
const bracket = /\[\[sluice:([^[\]]{0,1000})\]\]/g;

/** Reads the directives of a text, and returns the text without them. */
export function readDirectives(text: string): { directives: SimulatorDirectives; text: string } {
  const directives: SimulatorDirectives = { after: 0, hang: false, refuse: false };
  for (const [, inside = ''] of text.matchAll(bracket)) {
    for (const word of inside.trim().split(/[\s,]+/)) {
      const [name = '', value = ''] = word.split('=', 2);
      apply(directives, name, value);
    }
  }
  return { directives, text: text.replace(bracket, ' ').replace(/ {2,}/g, ' ').trim() };
}

function apply(directives: SimulatorDirectives, name: string, value: string): void {
  const set = (
    member: 'tokens' | 'firstTokenMs' | 'tokensPerSecond' | 'after' | 'failAttempts' | 'breakAttempts',
    most: number,
  ) => {
    if (/^\d{1,9}(?:\.\d{1,9})?$/.test(value)) directives[member] = Math.min(Number(value), most);
  };
  switch (name) {
    case 'tokens':
      set('tokens', maxTokens);
      if (directives.tokens !== undefined) directives.tokens = Math.max(1, Math.trunc(directives.tokens));
      return;
    case 'first_token_ms':
      return set('firstTokenMs', maxDelayMs);
    case 'tokens_per_second':
      return set('tokensPerSecond', maxTokens);
    case 'after':
      return set('after', maxTokens);
    case 'fail_attempts':
      return set('failAttempts', maxTokens);
    case 'fail':
      if (isFailureCode(value)) directives.fail = value;
      return;
    case 'hang':
      directives.hang = true;
      return;
    case 'refuse':
      directives.refuse = true;
      return;
    case 'stop':
      if (value === 'stop' || value === 'content_filter' || value === 'max_output_tokens')
        directives.stop = value;
      return;
    case 'break': {
      const promise = breakablePromises.find((each) => each === value);
      if (promise) directives.break = promise;
      return;
    }
    case 'break_attempts':
      return set('breakAttempts', maxTokens);
    default:
      return;
  }
}
