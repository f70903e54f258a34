import {
  specificationNames,
  isTerminalType,
  type LifecycleType,
  type Response,
  type ResponseEnd,
  type Status,
  withEnd,
} from '@sluice/contract';
import { type LoggedEvent, type LongTexts, typeOf } from '@sluice/response-store';
import { type Dialect, lifecycleJson } from './dialect.ts';
import type { SentEvent } from './event-sink.ts';

/** How one reader wants its events. */
export interface PresentationOptions {
  dialect: Dialect;
  /** Pad delta events, so that their size tells nothing about the tokens in them. */
  obfuscate: boolean;
  /** Name raw reasoning events as the Open Responses specification does, not as OpenAI does. */
  specificationNames: boolean;
  /** Whether a door of another protocol reads them; see `lifecycleJson`. False by default. */
  isForDoor?: boolean | undefined;
}

/** Padded events are a multiple of this long, in characters. */
const sizeClass = 64;

/**
 * Turns logged events into what one reader is sent.
 *
 * Content events pass as the bytes the worker wrote, unless the reader asked to have them otherwise; life-cycle
 * events are made from the response, in the dialect of the mount. The same event always becomes the same bytes.
 */
export class EventPresentation {
  readonly #options: PresentationOptions;

  constructor(options: PresentationOptions) {
    this.#options = options;
  }

  /** An event of the content. */
  present(event: LoggedEvent): SentEvent {
    const { json } = event;
    const type = typeOf(json);
    const renamed = this.#options.specificationNames ? specificationNames.get(type) : undefined;
    if (renamed !== undefined) {
      const named = `{"type":"${renamed}"${json.slice(9 + type.length + 1)}`;
      return this.#padded(renamed, { ...event, json: named });
    }
    return this.#padded(type, event);
  }

  /**
   * An event of the life cycle, from the response as it was accepted. `end` is needed for the event that ends the response,
   * and may be there for those before it. `texts` are those that marks in it stand for.
   */
  lifecycle(
    accepted: Response,
    { type, sequenceNumber }: { type: LifecycleType; sequenceNumber: number },
    end?: ResponseEnd,
    texts?: LongTexts,
  ): SentEvent {
    const isLast = end !== undefined && isTerminalType(type);
    const response = isLast ? withEnd(accepted, end) : { ...accepted, status: statusShownBy(type) };
    const { dialect, isForDoor } = this.#options;
    const json = lifecycleJson(dialect, { type, sequenceNumber }, response, isForDoor);
    return { type, sequenceNumber, json, texts: isLast ? texts : undefined };
  }

  #padded(type: string, { sequenceNumber, json, texts }: LoggedEvent): SentEvent {
    if (!this.#options.obfuscate || !type.endsWith('.delta')) return { type, sequenceNumber, json, texts };
    const open = `${json.slice(0, -1)},"obfuscation":"`;
    const length = texts?.lengthOf(open) ?? open.length;
    const missing = sizeClass - ((length + 2) % sizeClass);
    return { type, sequenceNumber, json: `${open}${padding(missing, sequenceNumber)}"}`, texts };
  }
}

/** `response.created` shows a response that is queued, like every event before a worker takes it. */
function statusShownBy(type: LifecycleType): Status {
  return type === 'response.in_progress' ? 'in_progress' : 'queued';
}

/** Letters that differ from event to event and are the same for every reader of one. */
function padding(length: number, seed: number): string {
  let text = '';
  for (let at = 0; at < length; at += 1)
    text += String.fromCharCode(97 + ((seed * 7 + at * 11 + at * at) % 26));
  return text;
}
