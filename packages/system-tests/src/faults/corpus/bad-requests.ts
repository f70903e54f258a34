import { createHash } from 'node:crypto';
import { brokenMember, brokenText } from './bad-bodies.ts';
import { brokenHttp, brokenQuery } from './bad-http.ts';
import type { BadRequest } from './bad-request.ts';
import { choicesFrom, type Random } from './random.ts';

/**
 * Requests without end, the same for the same seed and each of them once. Most are wrong; what is odd but valid is among
 * them. The key is that of the tenant that sends them.
 */
export function* badRequests(seed: number, key: string): Generator<BadRequest, never> {
  const random = choicesFrom(seed);
  const seen = new Set<string>();
  for (;;) {
    const request = makeRequest(random, key);
    const { method, path, headers, body } = request;
    const hash = createHash('sha1')
      .update(JSON.stringify([method, path, headers]))
      .update(body ?? '')
      .digest('base64');
    if (!seen.has(hash)) yield request;
    seen.add(hash);
  }
}

function makeRequest(random: Random, key: string): BadRequest {
  const kind = random.next();
  if (kind < 0.7) return brokenMember(random, key);
  if (kind < 0.82) return brokenText(random, key);
  if (kind < 0.9) return brokenQuery(random, key);
  return brokenHttp(random, key);
}
