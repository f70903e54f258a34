import {
  eventTypeOf,
  responseFor,
  type Response,
  type ResponseEnd,
  type UnnumberedEvent,
  withEnd,
} from '@sluice/contract';

/** A response's content events and its end as the stream that a reader gets, for whoever checks its grammar. */
export function wholeStream(responseId: string, content: readonly UnnumberedEvent[], end: ResponseEnd) {
  const accepted = responseFor({ model: 'm' }, { id: responseId, createdAt: 1, serviceTier: 'default' });
  const lifecycle = (type: string, response: Response) => ({
    type,
    response: { object: 'response', ...response },
  });
  return [
    lifecycle('response.created', accepted),
    lifecycle('response.queued', accepted),
    lifecycle('response.in_progress', { ...accepted, status: 'in_progress' }),
    ...content,
    lifecycle(eventTypeOf(end.status), withEnd(accepted, end)),
  ].map((event, at) => ({ ...event, sequence_number: at }));
}
