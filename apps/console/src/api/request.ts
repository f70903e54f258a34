import { actionToken, actionTokenHeader } from './action-token.ts';
import { reachability } from './reachability.ts';
import { ApiError, errorOf, UnreachableError } from './api-error.ts';

/** Every path of the admin API begins with it. */
export const adminMount = '/admin/v1';

export type Search = Record<string, string | number | boolean | readonly string[] | undefined>;

/** The path and query of a request to the admin API. A list becomes its name once for each value; undefined is left out. */
export function adminUrl(path: string, search: Search = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value === undefined) continue;
    if (typeof value === 'object') for (const each of value) query.append(name, each);
    else query.append(name, String(value));
  }
  return `${adminMount}${path}${query.size > 0 ? `?${query}` : ''}`;
}

/**
 * Reads from the admin API. The action token goes along if there is one, because some answers hold more for a tab that may act.
 *
 * @throws {ApiError} for an answer that is an error.
 * @throws {UnreachableError} when there is no answer.
 */
export async function getJson<T>(path: string, search?: Search, signal?: AbortSignal): Promise<T> {
  return send<T>('GET', adminUrl(path, search), signal === undefined ? {} : { signal });
}

export interface Act {
  body?: unknown;
  search?: Search;
  signal?: AbortSignal;
}

/** The rejection of an act because the dialog of the token was closed. Nothing was changed, so nothing is shown. */
export class NotUnlockedError extends Error {
  override readonly name = 'NotUnlockedError';
  constructor() {
    super('Nothing was done: acting was not unlocked.');
  }
}

/**
 * Does something that needs the action token: changes something, or reads content. Without a token, or with one that the service
 * refuses, it opens the dialog and tries again with the token that was entered.
 *
 * @throws {NotUnlockedError} when the dialog is closed, and when the service has no action token at all.
 * @throws {ApiError} and {UnreachableError} as `getJson`.
 */
export async function act<T>(method: 'GET' | 'POST' | 'DELETE', path: string, given: Act = {}): Promise<T> {
  const { body, search, signal } = given;
  if (actionToken.value === undefined) await unlock('missing');
  for (;;) {
    try {
      return await send<T>(method, adminUrl(path, search), {
        ...(body !== undefined && {
          body: JSON.stringify(body),
          headers: { 'content-type': 'application/json' },
        }),
        ...(signal !== undefined && { signal }),
      });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'actions_off') await unlock('off');
      else if (error.code === 'invalid_action_token') await unlock('wrong');
      else throw error;
    }
  }
}

async function unlock(reason: 'missing' | 'wrong' | 'off'): Promise<void> {
  if ((await actionToken.request(reason)) === undefined) throw new NotUnlockedError();
}

async function send<T>(method: string, url: string, init: RequestInit): Promise<T> {
  const response = await fetchAdmin(url, { ...init, method });
  return (await response.json()) as T; // The API's own answer; the contract says its shape.
}

/** `fetch` with the action token of this tab, unless the request has one of its own. Rejects for every answer that is no success. */
export async function fetchAdmin(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = actionToken.value;
  if (token !== undefined && !headers.has(actionTokenHeader)) headers.set(actionTokenHeader, token);
  const response = await fetch(url, { ...init, headers }).catch((cause: unknown) => {
    if (init.signal?.aborted) throw cause;
    reachability.set(false);
    throw new UnreachableError(cause);
  });
  reachability.set(true);
  if (!response.ok) throw await errorOf(response);
  return response;
}
