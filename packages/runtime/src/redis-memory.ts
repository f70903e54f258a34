import type { Redis } from 'ioredis';

/** How often the memory of Redis is looked at, in milliseconds. */
const lookEveryMs = 1_000;

export interface RedisMemoryOptions {
  commands: Pick<Redis, 'info' | 'status'>;
  /** Called when Redis does not say. */
  onError: (error: unknown) => void;
}

/**
 * How full the memory of Redis is, so that new work can be refused before Redis has to refuse every write, those of accepted
 * work included. The limit is its `maxmemory`, or the memory of its machine where it has none. A server that hides both is
 * never full.
 */
export class RedisMemory {
  readonly #options: RedisMemoryOptions;
  #timer: NodeJS.Timeout | undefined;
  #used: UsedMemory | undefined;
  #isLooking = false;

  constructor(options: RedisMemoryOptions) {
    this.#options = options;
  }

  /** As of the last second. While Redis is silent it stays as it was. */
  get usedPercent(): number {
    return this.#used === undefined ? 0 : percentOf(this.#used);
  }

  /** The same in bytes; undefined until Redis has told. */
  get used(): UsedMemory | undefined {
    return this.#used;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.look(), lookEveryMs).unref();
    void this.look();
  }

  /** Twice, or before `start`, is fine. */
  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  async look(): Promise<void> {
    const { commands, onError } = this.#options;
    if (this.#isLooking || commands.status !== 'ready') return;
    this.#isLooking = true;
    try {
      this.#used = usedMemoryOf(await commands.info('memory'));
    } catch (error) {
      onError(error);
    } finally {
      this.#isLooking = false;
    }
  }
}

export interface UsedMemory {
  usedBytes: number;
  /** `maxmemory`, or the memory of the machine where there is none; undefined where the server hides both. */
  limitBytes: number | undefined;
}

/** Parses the text of `INFO memory`. */
export function usedMemoryOf(info: string): UsedMemory {
  const limitBytes = memberOf(info, 'maxmemory') || memberOf(info, 'total_system_memory');
  return { usedBytes: memberOf(info, 'used_memory'), limitBytes: limitBytes || undefined };
}

/** The used share in per cent; 0 without a limit. */
function percentOf({ usedBytes, limitBytes }: UsedMemory): number {
  return limitBytes === undefined ? 0 : (usedBytes / limitBytes) * 100;
}

function memberOf(info: string, name: string): number {
  const found = new RegExp(`^${name}:(\\d+)`, 'm').exec(info);
  return Number(found?.[1] ?? 0);
}
