import type { History } from './history.ts';
import type { ReadResponse } from './check-response.ts';
import type { SimulatedCaller } from './simulated-caller.ts';

/** The end of each response in the background that was accepted is told to the endpoint of its tenant. Nobody is told anything else. */
export function checkEndpoints(
  { endpoints, scenario, losses }: History,
  { plan, isAccepted, responseId, wasRefused }: SimulatedCaller,
  { id, status }: ReadResponse,
): string[] {
  // A store that has forgotten something may have forgotten who is to be told.
  if (scenario.hasWebhooks !== true || losses.length > 0) return [];
  const told = endpoints.taken.filter((event) => event.responseId === id);
  const problems = told
    .filter(({ type, tenant }) => type !== `response.${status}` || tenant !== plan.tenant)
    .map(({ type, tenant }) => `the endpoint of ${tenant} was told ${type} of ${id}, which is ${status}`);
  const events = new Set(told.map((event) => event.id));
  if (events.size > 1) problems.push(`the end of ${id} was told as ${events.size} events`);
  const isBackground = plan.mode === 'background' || plan.mode === 'background stream';
  if (!isBackground && told.length > 0)
    problems.push(`an endpoint was told of ${id}, for which somebody waited`);
  // What nobody was told of, or was refused, may be taken back unseen.
  const isOwn = isAccepted && responseId === id && !wasRefused;
  if (isBackground && told.length === 0 && isOwn) problems.push(`no endpoint was told of ${id}`);
  return problems;
}
