import type { Random } from './random.ts';
import type { Happening, Inhabitant, World } from './world.ts';

/**
 * A process of the service in a world: its clocks, its timers and its chance. All of it ends with the process, so nothing of
 * a dead one ever runs again.
 */
export class SimulatedProcess implements Inhabitant {
  readonly name: string;
  readonly world: World;
  readonly random: Random;
  /** In milliseconds of the world. */
  readonly startedMs: number;
  readonly #onDeath: (() => void)[] = [];
  isDead = false;
  /** Until then nothing happens to it, as if it had been stopped by a signal. */
  pausedUntilMs = 0;
  /** How wrong its clock is, in milliseconds. */
  clockErrorMs = 0;

  constructor(world: World, name: string) {
    this.world = world;
    this.name = name;
    this.random = world.random.fork(name);
    this.startedMs = world.elapsedMs;
  }

  /** What `Date.now()` says. */
  get dateMs(): number {
    return Math.floor(this.world.nowMs + this.clockErrorMs);
  }

  /** What `performance.now()` says. */
  get runningMs(): number {
    return this.world.elapsedMs - this.startedMs;
  }

  /** Plans a call, as `setTimeout` does. */
  after(delayMs: number, run: () => void): Happening {
    return this.world.after(delayMs, this, run);
  }

  /** Stops it for a while, as SIGSTOP does. A shorter pause does not end a longer one. */
  pause(forMs: number): void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, this.world.elapsedMs + forMs);
  }

  onDeath(listener: () => void): void {
    this.#onDeath.push(listener);
  }

  /** Ends it, as SIGKILL does. */
  kill(): void {
    if (this.isDead) return;
    this.isDead = true;
    for (const listener of this.#onDeath.splice(0)) listener();
  }
}
