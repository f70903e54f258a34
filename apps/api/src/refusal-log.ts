import type { ServiceError } from '@sluice/contract';
import type { FastifyRequest } from 'fastify';

/** Lines of one second, of a tenant and in all. One that is refused thousands of times must neither fill the log nor hide the others. */
const mostLines = { tenant: 5, all: 50 };
const periodMs = 1_000;

/**
 * An outage refuses everybody, and says so in lines of its own: one refusal of a service that cannot take requests is written in so many
 * milliseconds.
 */
const outagePeriodMs = 10_000;

/**
 * Writes to the log what was refused, under the id of its request: a refused request makes no response, so nobody but the log
 * could tell what became of it. `now` is in milliseconds.
 */
export class RefusalLog {
  readonly #now: () => number;
  readonly #lines = new Map<string, number>();
  #beganAt = Number.NEGATIVE_INFINITY;
  #written = 0;
  #omitted = 0;
  #outageAt = Number.NEGATIVE_INFINITY;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  write({ key, log }: Pick<FastifyRequest, 'key' | 'log'>, { code, param, status }: ServiceError): void {
    // Unset for a request whose key was not accepted.
    const tenant = (key as FastifyRequest['key'] | undefined)?.name;
    if (!(status >= 500 ? this.#mayWriteOutage() : this.#mayWrite(tenant ?? ''))) {
      this.#omitted += 1;
      return;
    }
    const omitted = this.#omitted;
    this.#omitted = 0;
    log.info({ tenant, status, code, ...(param !== null && { param }), omitted }, 'refused');
  }

  #mayWriteOutage(): boolean {
    const now = this.#now();
    if (now - this.#outageAt < outagePeriodMs) return false;
    this.#outageAt = now;
    return true;
  }

  #mayWrite(tenant: string): boolean {
    const now = this.#now();
    if (now - this.#beganAt >= periodMs) {
      this.#beganAt = now;
      this.#lines.clear();
      this.#written = 0;
    }
    const own = this.#lines.get(tenant) ?? 0;
    if (this.#written >= mostLines.all || own >= mostLines.tenant) return false;
    this.#written += 1;
    this.#lines.set(tenant, own + 1);
    return true;
  }
}
