import { FatalError } from '@sluice/runtime';
import type { Endpoint } from './exchange/endpoint.ts';
import { failedStatus } from './exchange/failure.ts';
import { badFlag } from './flags/flag-values.ts';
import { isObject } from './exchange/response-end.ts';
import type { Tenant } from './flags/tenants.ts';

/** How long the endpoint may take to list its models, in milliseconds. */
const listWithinMs = 10_000;

/**
 * The first model that the endpoint lists.
 *
 * @throws {FatalError} when it lists none, which says to name one, or does not answer, which says why.
 */
export async function firstModel(endpoint: Endpoint, tenant: Tenant, url: string): Promise<string> {
  const signal = AbortSignal.timeout(listWithinMs);
  const answer = await endpoint
    .send({ path: '/models', method: 'GET', tenant, signal })
    .catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause);
      throw new FatalError(`Nothing answers at ${url} (${why}): start the service, or name it with --url.`, {
        cause,
      });
    });
  if (answer.status !== 200) {
    const { code = '' } = failedStatus(answer);
    const hint =
      answer.status === 401 ? 'name a key with --key, or a model with --model' : 'name one with --model';
    throw badFlag(
      'model',
      `${url}/models, which would list them, answered ${answer.status} ${code}`.trimEnd() + `; ${hint}`,
    );
  }
  const model = modelsIn(answer.text)[0];
  if (model === undefined) throw badFlag('model', `${url}/models lists none; name one`);
  return model;
}

function modelsIn(json: string): string[] {
  try {
    const list: unknown = JSON.parse(json);
    const data: unknown = isObject(list) ? list['data'] : undefined;
    if (!Array.isArray(data)) return [];
    return data.flatMap((each: unknown) =>
      isObject(each) && typeof each['id'] === 'string' ? [each['id']] : [],
    );
  } catch {
    return [];
  }
}
