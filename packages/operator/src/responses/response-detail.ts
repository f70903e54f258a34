import { isResponseId, modeOf, ServiceError } from '@sluice/contract';
import type { Phase, ResponseDetail, ResponseRow } from '@sluice/contract/admin';
import type { ResponseStory } from '@sluice/journal';
import type { CallerStores, ResponseSummary } from '@sluice/response-store';
import type { ResponseIndex } from '../index/response-index.ts';

/** Most bytes of a request that are read when it is kept apart from its record: as many as a page shows. */
const mostRequestBytes = 1024 * 1024;

export interface DetailSources {
  index: Pick<ResponseIndex, 'isKept' | 'story'>;
  store: Pick<CallerStores, 'readSummary' | 'hasLog'>;
  settings: { models: readonly { id: string; queue: string }[] };
  /** Where a response stands in a queue, and in how many milliseconds it starts, as far as anybody can tell. */
  positionOf: (queue: string, responseId: string) => Promise<PlaceInQueue | undefined>;
  /** The store's clock, in milliseconds. */
  now: () => number;
}

/** A place in a queue. 1 is next. */
export interface PlaceInQueue {
  position: number;
  startsInMs: number | undefined;
}

/**
 * One response without its content, as its record and the journal tell of it. Either may be gone.
 *
 * @throws {ServiceError} when both are.
 */
export async function responseDetail(sources: DetailSources, responseId: string): Promise<ResponseDetail> {
  if (!isResponseId(responseId)) throw unknownResponse();
  const { index, store, settings, now } = sources;
  const summary = await store.readSummary(responseId, { mostRequestBytes });
  const position =
    summary?.status === 'queued' ? await sources.positionOf(summary.queue, responseId) : undefined;
  const facts = {
    models: settings.models.map(({ id, queue }) => ({ id, queue })),
    position: position?.position,
    now: now(),
  };
  const told = index.isKept ? index.story(responseId, facts) : undefined;
  // A record is worth showing without its story, such as while the index does not answer.
  const story = await (summary ? told?.catch(() => undefined) : told);
  if (!summary && !story) throw unknownResponse();
  return {
    object: 'response_detail',
    row: rowOf(story, summary),
    is_kept: summary !== undefined,
    request_id: summary?.requestId ?? story?.requestId ?? null,
    ...toldOfPlace(position, now()),
    phases: story?.phases ?? (summary ? phasesOfRecord(summary) : []),
    ...toldByJournal(story),
    ...toldByRecord(summary),
    events: await keptEvents(store, summary),
  };
}

/** Events of a response that was not streamed are derived from its end. */
async function keptEvents(store: DetailSources['store'], summary: ResponseSummary | undefined) {
  const { streams = false } = summary ?? {};
  const isKept = summary !== undefined && (!streams || (await store.hasLog(summary.id)));
  return { is_kept: isKept, last: isKept && streams ? summary.sequenceNumber : null };
}

function toldOfPlace(place: PlaceInQueue | undefined, now: number) {
  const startsInMs = place?.startsInMs;
  return {
    queue_position: place?.position ?? null,
    estimated_start_at: startsInMs === undefined ? null : Math.round(now + startsInMs),
  };
}

function toldByJournal(story: ResponseStory | undefined) {
  return {
    retry_of: story?.retryOf ?? null,
    retried_as: story?.retriedAs ?? [],
    attempts: story?.attempts ?? [],
    journal: story?.journal ?? [],
    journal_left_out: story?.leftOut ?? 0,
  };
}

function toldByRecord(summary: ResponseSummary | undefined) {
  const end = summary?.end;
  return {
    metadata: summary?.request.metadata ?? {},
    parameters: summary ? parametersOf(summary.request) : {},
    previous_response_id: summary?.previousId ?? null,
    input_bytes: summary?.askedBytes ?? null,
    usage: end?.usage ?? null,
    error: end?.error ?? null,
    incomplete_reason: end?.incomplete_details?.reason ?? null,
  };
}

function unknownResponse(): ServiceError {
  return new ServiceError(
    'not_found',
    'There is no response with this id: neither a record nor the journal tells of it.',
  );
}

/** In place of what the journal would tell. */
const noRow = { started_at: null, first_output_at: null, ended_at: null, attempts: 0 };

/** The journal knows more; the record knows what is not in the journal yet. */
function rowOf(story: ResponseStory | undefined, summary: ResponseSummary | undefined): ResponseRow {
  if (!summary) {
    if (!story) throw unknownResponse();
    return story.row;
  }
  const { end } = summary;
  const { started_at, first_output_at, ended_at, attempts } = story?.row ?? noRow;
  return {
    id: summary.id,
    tenant: summary.tenant,
    model: summary.request.model,
    tier: summary.serviceTier,
    mode: modeOf(summary.request),
    status: summary.status,
    error_code: end?.error?.code ?? null,
    accepted_at: summary.acceptedAt,
    started_at: started_at ?? summary.startedAt ?? null,
    first_output_at,
    ended_at: ended_at ?? endOf(summary),
    attempts: Math.max(summary.attempts, attempts),
    input_tokens: end?.usage?.input_tokens ?? null,
    output_tokens: end?.usage?.output_tokens ?? null,
  };
}

/** A record says when it was completed, in seconds, and nothing of other ends. */
function endOf({ end, startedAt, acceptedAt }: ResponseSummary): number | null {
  if (end?.completed_at == null) return null;
  return Math.max(end.completed_at * 1000, startedAt ?? acceptedAt);
}

/** The bar as far as a record alone can tell it. */
function phasesOfRecord(summary: ResponseSummary): Phase[] {
  const { acceptedAt, startedAt } = summary;
  const endedAt = summary.end ? (endOf(summary) ?? startedAt ?? acceptedAt) : null;
  const waiting: Phase = { kind: 'waiting', from: acceptedAt, to: startedAt ?? endedAt, because: null };
  if (startedAt === undefined) return [waiting];
  return [waiting, { kind: 'generating', from: startedAt, to: endedAt, because: null }];
}

/** Members of a request that say how it is to be answered, and nothing of what was asked. */
const parameterNames = [
  ...(['model', 'stream', 'background', 'store', 'service_tier', 'temperature', 'top_p'] as const),
  ...(['presence_penalty', 'frequency_penalty', 'top_logprobs', 'max_output_tokens'] as const),
  ...(['max_tool_calls', 'parallel_tool_calls', 'truncation', 'include', 'reasoning'] as const),
] satisfies (keyof ResponseSummary['request'])[];

function parametersOf(request: ResponseSummary['request']): Record<string, unknown> {
  const parameters: Record<string, unknown> = {};
  for (const name of parameterNames) {
    if (request[name] !== undefined && request[name] !== null) parameters[name] = request[name];
  }
  const { tools = [], hosted_tools: hosted = [], tool_choice: toolChoice, text } = request;
  const types = [...tools, ...hosted].map(({ type }) => type);
  if (types.length > 0) parameters['tools'] = types;
  if (toolChoice !== undefined)
    parameters['tool_choice'] = typeof toolChoice === 'string' ? toolChoice : toolChoice.type;
  if (text?.format?.type !== undefined) parameters['text_format'] = text.format.type;
  return parameters;
}
