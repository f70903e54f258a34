// The health check of a container in any role: an api answers on PORT, a worker on WORKER_HEALTH_PORT.
// It asks whether the process lives, not whether it is ready, because a restart does not help while Redis is away.
const ports = [process.env.PORT, process.env.WORKER_HEALTH_PORT].filter(Boolean);
const timeoutMs = 2000;

async function ask(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(timeoutMs) });
  if (!answer.ok) throw new Error(`port ${port} answers ${answer.status}`);
}

try {
  await Promise.any(ports.map(ask));
} catch (error) {
  for (const cause of error.errors) console.error(cause.cause?.message ?? cause.message);
  process.exitCode = 1;
}
