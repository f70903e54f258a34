import {
  type LifecycleType,
  type OutputItem,
  type Response,
  type ResponseEnd,
  ServiceError,
} from '@sluice/contract';

/** The characters of an id behind its prefix, under which other protocols know the same response. */
export function suffixOf(responseId: string): string {
  return responseId.slice(responseId.indexOf('_') + 1);
}

/** Between the texts of different parts of reasoning. */
export const betweenReasoning = '\n\n';

/** The texts of reasoning that are not empty, its summary first. */
export function reasoningTexts({ summary, content }: Extract<OutputItem, { type: 'reasoning' }>): string[] {
  return [...summary, ...(content ?? [])].map(({ text }) => text).filter((text) => text !== '');
}

/** @throws {ServiceError} for a response that was cancelled: other protocols have no word for that. */
export function refuseCancelled({
  status,
  incomplete_details: details,
}: Pick<ResponseEnd, 'status' | 'incomplete_details'>): void {
  if (status !== 'cancelled' && details?.reason !== 'cancelled') return;
  throw new ServiceError('server_error', 'The response was cancelled.', { shouldRetry: false });
}

/** An event of the life cycle as a door is given it, with members that no body has. */
export interface ToldLifecycle {
  type: LifecycleType;
  response: Response;
}

/** An event of the life cycle, as the api has made it. */
export function lifecycleEvent(json: string): ToldLifecycle {
  return JSON.parse(json) as ToldLifecycle;
}
