// What `helm test` runs in a pod: asks an api whether it lives and is ready and, if it is told a model, has it answer.
// Prints a line for each thing that it found, and ends with 1 at the first that is not so.
const { SLUICE_URL: url, SLUICE_MODEL: model, SLUICE_API_KEY: key } = process.env;
const timeoutMs = 60_000;

async function ask(path, options = {}) {
  const answer = await fetch(`${url}${path}`, { ...options, signal: AbortSignal.timeout(timeoutMs) });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answers ${answer.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

try {
  await ask('/healthz');
  console.log('The api lives.');
  await ask('/readyz');
  console.log('The api is ready.');
  if (model) {
    const { id, status, error } = await ask('/v1/responses', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: 'Hello' }),
    });
    if (status !== 'completed') throw new Error(`${id} is ${status}: ${JSON.stringify(error)}`);
    console.log(`${model} has answered: ${id}`);
  } else console.log('No model was asked: test.model names none, or no key of the settings may use it.');
} catch (error) {
  console.error(error.cause?.message ?? error.message);
  process.exitCode = 1;
}
