import { isDeepStrictEqual } from 'node:util';
import {
  type ContentEvent,
  eventTypeOf,
  foldEvents,
  isLifecycleType,
  isTerminalType,
  type LifecycleEvent,
  parseEvent,
  type ResponseEvent,
  type Status,
  statusesBefore,
} from '@sluice/contract';
import { ItemGrammar, type Report } from './item-grammar.ts';
import { checkShape, checkStatus, isObject } from './response-shape.ts';

/**
 * Checks the whole stream of one response, from its first event to its last, against every rule of the wire: numbers,
 * order, items and their parts, the shape of each response object, and that the end has the output that was streamed.
 *
 * Takes parsed events from any transport, with either name for raw reasoning. Returns one sentence for each violation,
 * and an empty list for a good stream. To check a part of a stream, put the events before it in front. Events that an
 * idle stream repeats are violations here, because no log has them.
 */
export function checkEventGrammar(events: readonly unknown[]): string[] {
  const violations: string[] = [];
  const grammar = new StreamGrammar();
  events.forEach((value, at) => {
    const type = isObject(value) ? String(value['type']) : typeof value;
    const report: Report = (problem) => violations.push(`event ${at} (${type}): ${problem}`);
    if (!isObject(value)) return report('it is not an object');
    if (value['sequence_number'] !== at) {
      report(`sequence_number is ${JSON.stringify(value['sequence_number'])}, expected ${at}`);
    }
    // SDKs throw when an event has this member, whatever its type.
    if (type !== 'error' && value['error']) report('only an error event may have a member named error');
    const event = parsed(value, report);
    if (event) grammar.check(event, report);
  });
  if (!grammar.hasEnded) violations.push('the stream has no terminal event');
  return violations;
}

function parsed(value: Record<string, unknown>, report: Report): ResponseEvent | undefined {
  const type = String(value['type']).replace(/^response\.reasoning\./, 'response.reasoning_text.');
  const json = JSON.stringify({ ...value, type });
  if (isLifecycleType(type)) {
    const { response } = JSON.parse(json) as { response?: unknown };
    const problems = checkShape(response);
    for (const problem of problems) report(problem);
    if (problems.length > 0) return undefined;
  }
  try {
    return parseEvent(json);
  } catch (error) {
    report(error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** The members of a response that its end changes. All others are the same in every life-cycle event. */
const changing = ['status', 'completed_at', 'incomplete_details', 'error', 'output', 'output_text', 'usage'];

class StreamGrammar {
  readonly #items = new ItemGrammar();
  readonly #events: ResponseEvent[] = [];
  #first: Record<string, unknown> | undefined;
  #error: Extract<ContentEvent, { type: 'error' }> | undefined;
  #isRunning = false;
  hasEnded = false;

  check(event: ResponseEvent, report: Report): void {
    if (this.hasEnded) report('nothing follows a terminal event');
    if (this.#error && event.type !== 'response.failed') report('only response.failed follows an error');
    if ('response' in event) this.#checkLifecycle(event, report);
    else if (event.type === 'error') this.#checkError(event, report);
    else {
      if (!this.#isRunning) report('output stands behind response.in_progress');
      this.#items.check(event, report);
    }
    this.#events.push(event);
  }

  #checkLifecycle(event: LifecycleEvent, report: Report): void {
    for (const problem of checkStatus(event.response)) report(problem);
    this.#checkSame(event, report);
    if (isTerminalType(event.type)) return this.#checkEnd(event, report);
    const expected = ['response.created', 'response.queued', 'response.in_progress'][this.#events.length];
    if (event.type !== expected) report(`expected ${expected ?? 'no such event'} here`);
    if (event.type === 'response.in_progress') this.#isRunning = true;
    const { status } = event.response;
    const isRight =
      event.type === 'response.created'
        ? status === 'queued' || status === 'in_progress'
        : eventTypeOf(status) === event.type;
    if (!isRight) report(`the status is ${status}`);
  }

  /** Members of the request do not change while a response runs. */
  #checkSame({ response }: LifecycleEvent, report: Report): void {
    // Members are compared by name, and a Response has no index signature.
    const members: Record<string, unknown> = { ...response };
    this.#first ??= members;
    for (const name of new Set([...Object.keys(this.#first), ...Object.keys(members)])) {
      if (changing.includes(name) || isDeepStrictEqual(members[name], this.#first[name])) continue;
      report(`response.${name} differs from the first event's`);
    }
  }

  #checkError(event: Extract<ContentEvent, { type: 'error' }>, report: Report): void {
    const { code, message, param, error } = event;
    if (
      !isDeepStrictEqual(
        { code, message, param },
        { code: error.code, message: error.message, param: error.param },
      )
    ) {
      report('the flat and the nested form differ');
    }
    if (this.#events.length < 2) report('it stands behind response.queued');
    this.#error = event;
  }

  #checkEnd({ type, response }: LifecycleEvent, report: Report): void {
    this.hasEnded = true;
    const { status } = response;
    if (eventTypeOf(status) !== type) report(`the status is ${status}`);
    if (this.#events.length < 2) report('it stands behind response.queued');
    const before: Status = this.#isRunning ? 'in_progress' : 'queued';
    if (!statusesBefore(status).includes(before)) report(`${status} does not follow ${before}`);
    for (const problem of this.#items.stillOpen()) report(problem);
    if (!isDeepStrictEqual(response.output, this.#items.items)) report('the output is not what was streamed');
    this.#checkFold(response.output, report);
    checkItemStatuses(response, report);
    if (this.#error && status === 'failed' && !isDeepStrictEqual(response.error, this.#error.error)) {
      report('the error differs from the error event');
    }
  }

  #checkFold(output: unknown, report: Report): void {
    try {
      if (!isDeepStrictEqual(output, foldEvents(this.#events)))
        report('the output is not the fold of the events');
    } catch (error) {
      report(error instanceof Error ? error.message : String(error));
    }
  }
}

/** A completed response has no incomplete item. In an incomplete response only the last item may be incomplete. */
function checkItemStatuses({ status, output }: LifecycleEvent['response'], report: Report): void {
  output.forEach((item, index) => {
    if (item.status !== 'incomplete') return;
    if (status === 'completed') report(`output item ${index} of a completed response is incomplete`);
    if (status === 'incomplete' && index < output.length - 1) {
      report(`output item ${index} is incomplete, and not the last`);
    }
  });
}
