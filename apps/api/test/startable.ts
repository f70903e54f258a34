/** Something that a test may start again, in place of the one that it has had so far. Nothing of it is used before it has started. */
export type Startable<Started, Options> = Started & { start(options?: Options): Promise<void> };

export function startable<Started extends { stop: () => Promise<void> }, Options>(
  take: (options?: Options) => Promise<Started>,
): Startable<Started, Options> {
  let started: Started | undefined;
  const stop = async () => {
    const stopping = started;
    started = undefined;
    await stopping?.stop();
  };
  const start = async (options?: Options) => {
    await stop();
    started = await take(options);
    Object.assign(held, started, { stop });
  };
  const held = { start, stop } as Startable<Started, Options>;
  return held;
}
