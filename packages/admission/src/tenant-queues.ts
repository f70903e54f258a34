/** Waiting entries by tenant. Tenants take turns; each is served in its own order. */
export class TenantQueues<Item> {
  /** No queue is empty. The one whose turn comes last is behind all others. */
  readonly #queues = new Map<string, Item[]>();

  add(tenant: string, item: Item): void {
    const queue = this.#queues.get(tenant);
    if (queue) queue.push(item);
    else this.#queues.set(tenant, [item]);
  }

  /** Takes the first item of the first tenant that may have a turn; undefined when there is none. */
  take(mayHaveTurn: (tenant: string) => boolean = () => true): Item | undefined {
    for (const [tenant, queue] of this.#queues) {
      if (!mayHaveTurn(tenant)) continue;
      const item = queue.shift();
      this.#queues.delete(tenant);
      if (queue.length > 0) this.#queues.set(tenant, queue);
      return item;
    }
    return undefined;
  }
}
