import { eventually, type WaitOptions } from '@sluice/testing';
import { expect } from 'vitest';
import type { Service } from './service.ts';

/** The models that an api offers to a key, and the status of the answer. */
async function modelsAt(apiUrl: string, key: string): Promise<{ status: number; ids: string[] }> {
  const answer = await fetch(`${apiUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } });
  const { data = [] } = (await answer.json()) as { data?: { id: string }[] };
  return { status: answer.status, ids: data.map(({ id }) => id) };
}

/** The status with which an api answers a key. */
export const statusAt = async (apiUrl: string, key: string): Promise<number> =>
  (await modelsAt(apiUrl, key)).status;

/** Waits until a key is taken by every api, or refused. */
export async function untilKey(
  { apiUrls }: Pick<Service, 'apiUrls'>,
  key: string,
  is: 'taken' | 'refused',
  wait: WaitOptions = {},
): Promise<void> {
  const expected = is === 'taken' ? 200 : 401;
  await Promise.all(
    apiUrls.map((url) => eventually(async () => (await statusAt(url, key)) === expected, wait)),
  );
}

/** Waits until every api offers a model, or none does. */
export async function untilOffered(
  { apiUrls, key }: Pick<Service, 'apiUrls' | 'key'>,
  model: string,
  isOffered = true,
): Promise<void> {
  await eventually(async () => {
    for (const url of apiUrls) {
      const { ids } = await modelsAt(url, key);
      expect(ids.includes(model)).toBe(isOffered);
    }
    return true;
  });
}

/** Asks the admin API of the first api: by POST where there is a body, and with the token. */
export async function askAdmin(
  { adminUrls }: Pick<Service, 'adminUrls'>,
  path: string,
  { body, token }: { body?: object | undefined; token: string },
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await fetch(`${adminUrls[0]}/admin/v1${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { 'content-type': 'application/json', 'sluice-action-token': token },
    ...(body && { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}
