/** How many attempts a worker runs now, from its metrics. */
export async function runningAttempts(healthUrl: string): Promise<number> {
  const text = await (await fetch(`${healthUrl}/metrics`)).text();
  const [, value] = /^sluice_attempts_running(?:\{[^}]*\})? (\d+)$/m.exec(text) ?? [];
  if (value === undefined) throw new Error(`no number of running attempts in:\n${text}`);
  return Number(value);
}
