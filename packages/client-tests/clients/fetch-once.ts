import { APICallError } from 'ai';

/** A `fetch` for the AI SDK, which does not read `x-should-retry`: what must not be repeated is an error that it does not repeat. */
export async function fetchOnce(...request: Parameters<typeof fetch>): Promise<Response> {
  const answer = await fetch(...request);
  if (answer.headers.get('x-should-retry') !== 'false') return answer;
  const responseBody = await answer.text();
  throw new APICallError({
    message: JSON.parse(responseBody).error.message,
    url: answer.url,
    requestBodyValues: request[1]?.body,
    statusCode: answer.status,
    responseHeaders: Object.fromEntries(answer.headers),
    responseBody,
    isRetryable: false,
  });
}
