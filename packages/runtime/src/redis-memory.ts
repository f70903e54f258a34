import type { Redis } from 'ioredis';

/** How often the memory of Redis is looked at, in milliseconds. */
const lookEveryMs = 1_000;

export interface RedisMemoryOptions {
  commands: Pick<Redis, 'info' | 'status'>;
  /** Called when Redis does not say. */
  onError: (error: unknown) => void;
}

/**
 * How full the memory of Redis is, so that new work can be refused before Redis has to refuse every write, with what
 * accepted work needs among them. Of its `maxmemory`, or of its machine where it has none; a server that hides both is
 * never full.
 */
export class RedisMemory {
  readonly #options: RedisMemoryOptions;
  #timer: NodeJS.Timeout | undefined;
  #usedPercent = 0;
  #isLooking = false;

  constructor(options: RedisMemoryOptions) {
    this.#options = options;
  }

  /** As of the last second. While Redis is silent it stays as it was. */
  get usedPercent(): number {
    return this.#usedPercent;
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
      this.#usedPercent = usedPercentOf(await commands.info('memory'));
    } catch (error) {
      onError(error);
    } finally {
      this.#isLooking = false;
    }
  }
}

/** The used share of the memory in per cent, by the text of `INFO memory`; 0 where it does not say. */
export function usedPercentOf(info: string): number {
  const used = memberOf(info, 'used_memory');
  const most = memberOf(info, 'maxmemory') || memberOf(info, 'total_system_memory');
  return most > 0 ? (used / most) * 100 : 0;
}

function memberOf(info: string, name: string): number {
  const found = new RegExp(`^${name}:(\\d+)`, 'm').exec(info);
  return Number(found?.[1] ?? 0);
}
