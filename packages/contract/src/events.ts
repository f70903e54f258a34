import { isObject } from './is-object.ts';
import { z } from 'zod';
import {
  annotationSchema,
  contentPartSchema,
  logprobSchema,
  outputItemSchema,
  summaryPartSchema,
} from './output.ts';
import { responseBodySchema } from './response.ts';

const numbered = { sequence_number: z.int().min(0) };
const inItem = { ...numbered, item_id: z.string(), output_index: z.int().min(0) };
const inPart = { ...inItem, content_index: z.int().min(0) };
const inSummary = { ...inItem, summary_index: z.int().min(0) };

/** A step in the life of the response. The event carries the response as it is at that moment. */
const lifecycle = {
  members: { ...numbered, response: responseBodySchema },
  isLifecycle: true,
  isTerminal: false,
} as const;
/** The end of the response, and of the stream. */
const terminal = { ...lifecycle, isTerminal: true } as const;

/** A piece of output, or the error that precedes a failure. */
function content<Members extends z.ZodRawShape>(members: Members) {
  return { members, isLifecycle: false, isTerminal: false } as const;
}

const item = content({ ...numbered, output_index: z.int().min(0), item: outputItemSchema });
const part = content({ ...inPart, part: contentPartSchema });
const summaryPart = content({ ...inSummary, part: summaryPartSchema });
const logprobs = z.array(logprobSchema);

/**
 * EVENT TABLE: every event of a stream. A row has the members of the event besides `type`, and says whether it is an
 * event of the life cycle and whether it is terminal.
 *
 * A new event is one row here. The union, the parser and the predicates follow from it, and the exhaustive switch of
 * the fold does not compile without it.
 */
const eventTable = {
  'response.created': lifecycle,
  'response.queued': lifecycle,
  'response.in_progress': lifecycle,
  'response.completed': terminal,
  'response.incomplete': terminal,
  'response.failed': terminal,
  error: content({
    ...numbered,
    // Any code is accepted: an attempt may read an event that a newer worker wrote.
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
    error: z.object({
      type: z.string(),
      code: z.string(),
      message: z.string(),
      param: z.string().nullable(),
    }),
  }),
  'response.output_item.added': item,
  'response.output_item.done': item,
  'response.content_part.added': part,
  'response.content_part.done': part,
  'response.output_text.delta': content({ ...inPart, delta: z.string(), logprobs }),
  'response.output_text.done': content({ ...inPart, text: z.string(), logprobs }),
  'response.output_text.annotation.added': content({
    ...inPart,
    annotation_index: z.int(),
    annotation: annotationSchema,
  }),
  'response.refusal.delta': content({ ...inPart, delta: z.string() }),
  'response.refusal.done': content({ ...inPart, refusal: z.string() }),
  'response.reasoning_text.delta': content({ ...inPart, delta: z.string() }),
  'response.reasoning_text.done': content({ ...inPart, text: z.string() }),
  'response.reasoning_summary_part.added': summaryPart,
  'response.reasoning_summary_part.done': summaryPart,
  'response.reasoning_summary_text.delta': content({ ...inSummary, delta: z.string() }),
  'response.reasoning_summary_text.done': content({ ...inSummary, text: z.string() }),
  'response.function_call_arguments.delta': content({ ...inItem, delta: z.string() }),
  'response.function_call_arguments.done': content({ ...inItem, name: z.string(), arguments: z.string() }),
  'response.custom_tool_call_input.delta': content({ ...inItem, delta: z.string() }),
  'response.custom_tool_call_input.done': content({ ...inItem, input: z.string() }),
} as const;

type Table = typeof eventTable;
export type EventType = keyof Table;
type EventOf<Type extends EventType> = { type: Type } & z.output<z.ZodObject<Table[Type]['members']>>;

/** An event as it goes over the wire. */
export type ResponseEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export type LifecycleType = {
  [Type in EventType]: Table[Type]['isLifecycle'] extends true ? Type : never;
}[EventType];
export type LifecycleEvent = Extract<ResponseEvent, { type: LifecycleType }>;

/** An event that a worker writes between `response.in_progress` and the end. The log keeps it as it is. */
export type ContentEvent = Exclude<ResponseEvent, { type: LifecycleType }>;
/** A content event that has no sequence number yet. */
export type UnnumberedEvent = ContentEvent extends infer Event
  ? Event extends ContentEvent
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

const rows = new Map<string, Table[EventType]>(Object.entries(eventTable));

/** Whether an event is terminal. A stream has exactly one such event, and nothing follows it. */
export function isTerminalType(type: string): boolean {
  return rows.get(type)?.isTerminal === true;
}

export function isLifecycleType(type: string): type is LifecycleType {
  return rows.get(type)?.isLifecycle === true;
}

export const lifecycleTypes: readonly LifecycleType[] = [...rows.keys()].filter(isLifecycleType);

const schemas = new Map<string, z.ZodType>(
  [...rows].map(([type, { members }]) => [type, z.object({ type: z.literal(type), ...members })]),
);

/** Events that the Open Responses specification names otherwise than OpenAI does, with its names. */
export const specificationNames: ReadonlyMap<string, string> = new Map<EventType, string>([
  ['response.reasoning_text.delta', 'response.reasoning.delta'],
  ['response.reasoning_text.done', 'response.reasoning.done'],
]);

/** Any event of a stream, under the name that its reader asks for. */
export const eventSchema = z.union([
  ...schemas.values(),
  ...[...specificationNames].map(([type, name]) =>
    z.object({ type: z.literal(name), ...rows.get(type)?.members }),
  ),
]);

/**
 * Parses the JSON of one event.
 *
 * Parsing a content event is cheap. A life-cycle event carries a whole response, which is costly to parse. A process
 * that reads many events should look at the type first, and skip those.
 *
 * @throws {TypeError} for a type that is not in the table, and {z.ZodError} for a member of the wrong shape.
 */
export function parseEvent(json: string): ResponseEvent {
  const value: unknown = JSON.parse(json);
  const type: unknown = isObject(value) ? value.type : undefined;
  const schema = typeof type === 'string' ? schemas.get(type) : undefined;
  if (!schema) throw new TypeError(`Unknown event type: ${String(type)}`);
  // The event's own type chose the schema, so the output is that member of the union.
  return schema.parse(value) as ResponseEvent;
}
