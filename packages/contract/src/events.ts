import { z } from 'zod';
import {
  annotationSchema,
  contentPartSchema,
  logprobSchema,
  outputItemSchema,
  summaryPartSchema,
} from './output.ts';
import type { Response } from './response.ts';

const numbered = { sequence_number: z.int().min(0) };
const inItem = { ...numbered, item_id: z.string(), output_index: z.int().min(0) };
const inPart = { ...inItem, content_index: z.int().min(0) };
const inSummary = { ...inItem, summary_index: z.int().min(0) };

/** Life-cycle events carry the whole response; its shape is held by the type, so it is not parsed again. */
const withResponse = { ...numbered, response: z.custom<Response>(isObject) };
const item = { ...numbered, output_index: z.int().min(0), item: outputItemSchema };
const part = { ...inPart, part: contentPartSchema };
const summaryPart = { ...inSummary, part: summaryPartSchema };
const logprobs = z.array(logprobSchema);

/**
 * EVENT TABLE: every event that can stand in a stream, with its members besides `type`.
 *
 * A new event is one entry here; the union, the parser and the fold's exhaustive switch follow from it.
 */
const eventMembers = {
  'response.created': withResponse,
  'response.queued': withResponse,
  'response.in_progress': withResponse,
  'response.completed': withResponse,
  'response.incomplete': withResponse,
  'response.failed': withResponse,
  error: {
    ...numbered,
    code: z.string(),
    message: z.string(),
    param: z.string().nullable(),
    error: z.object({
      type: z.string(),
      code: z.string(),
      message: z.string(),
      param: z.string().nullable(),
    }),
  },
  'response.output_item.added': item,
  'response.output_item.done': item,
  'response.content_part.added': part,
  'response.content_part.done': part,
  'response.output_text.delta': { ...inPart, delta: z.string(), logprobs },
  'response.output_text.done': { ...inPart, text: z.string(), logprobs },
  'response.output_text.annotation.added': {
    ...inPart,
    annotation_index: z.int(),
    annotation: annotationSchema,
  },
  'response.refusal.delta': { ...inPart, delta: z.string() },
  'response.refusal.done': { ...inPart, refusal: z.string() },
  'response.reasoning_text.delta': { ...inPart, delta: z.string() },
  'response.reasoning_text.done': { ...inPart, text: z.string() },
  'response.reasoning_summary_part.added': summaryPart,
  'response.reasoning_summary_part.done': summaryPart,
  'response.reasoning_summary_text.delta': { ...inSummary, delta: z.string() },
  'response.reasoning_summary_text.done': { ...inSummary, text: z.string() },
  'response.function_call_arguments.delta': { ...inItem, delta: z.string() },
  'response.function_call_arguments.done': { ...inItem, name: z.string(), arguments: z.string() },
} as const;

type Members = typeof eventMembers;
export type EventType = keyof Members;
type EventOf<Type extends EventType> = { type: Type } & z.output<z.ZodObject<Members[Type]>>;

/** An event as it goes over the wire. */
export type ResponseEvent = { [Type in EventType]: EventOf<Type> }[EventType];

export const lifecycleTypes = [
  'response.created',
  'response.queued',
  'response.in_progress',
  'response.completed',
  'response.incomplete',
  'response.failed',
] as const satisfies EventType[];
export type LifecycleType = (typeof lifecycleTypes)[number];
export type LifecycleEvent = Extract<ResponseEvent, { type: LifecycleType }>;

/** Everything between `response.in_progress` and the end: what a worker produces and the log keeps as it is. */
export type ContentEvent = Exclude<ResponseEvent, { type: LifecycleType }>;
/** A content event before the log has given it its place. */
export type UnnumberedEvent = ContentEvent extends infer Event
  ? Event extends ContentEvent
    ? Omit<Event, 'sequence_number'>
    : never
  : never;

const terminalTypes: ReadonlySet<string> = new Set([
  'response.completed',
  'response.incomplete',
  'response.failed',
]);
const lifecycleTypeSet: ReadonlySet<string> = new Set(lifecycleTypes);

/** Nothing follows a terminal event. A stream has exactly one. */
export function isTerminalType(type: string): boolean {
  return terminalTypes.has(type);
}

export function isLifecycleType(type: string): type is LifecycleType {
  return lifecycleTypeSet.has(type);
}

export function isEventType(type: string): type is EventType {
  return Object.hasOwn(eventMembers, type);
}

const schemas = new Map<string, z.ZodType>(
  Object.entries(eventMembers).map(([type, members]) => [
    type,
    z.object({ type: z.literal(type), ...members }),
  ]),
);

/**
 * Parses the JSON of one event.
 *
 * @throws {TypeError} for a type that is not in the table, {z.ZodError} for members of the wrong shape.
 */
export function parseEvent(json: string): ResponseEvent {
  const value: unknown = JSON.parse(json);
  const type: unknown = isObject(value) ? value.type : undefined;
  const schema = typeof type === 'string' ? schemas.get(type) : undefined;
  if (!schema) throw new TypeError(`Unknown event type: ${String(type)}`);
  // The schema was chosen by the event's own type, so its output is that member of the union.
  return schema.parse(value) as ResponseEvent;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
