/** How many queues are taken at a time: each needs a few round trips. */
const atOnce = 16;

export interface RoundOfQueues<Value> {
  queues: Iterable<readonly [queue: string, value: Value]>;
  act: (queue: string, value: Value) => Promise<void>;
  /** Asked before each queue; the round ends when it says no or rejects. */
  mayGoOn: () => Promise<boolean>;
}

/** Rounds over many queues, several of them at a time, of which one that ends early is gone on with by the next one. */
export class QueuesInTurn {
  /** Where the last round ended; undefined when it came to every queue. */
  #first: string | undefined;

  /** Never rejects: what goes wrong with one queue keeps no other from its turn. Returns all that went wrong. */
  async round<Value>({ queues, act, mayGoOn }: RoundOfQueues<Value>): Promise<unknown[]> {
    const faults: unknown[] = [];
    const onFault = (fault: unknown) => void faults.push(fault);
    const underWay = new Map<string, Promise<void>>();
    let first: string | undefined;
    for (const [queue, value] of this.#inTurn(queues)) {
      if (!(await mayGoOn().catch(onFault))) {
        // What is under way may come to nothing.
        [first = queue] = underWay.keys();
        break;
      }
      const acting = act(queue, value).catch(onFault);
      underWay.set(
        queue,
        acting.finally(() => underWay.delete(queue)),
      );
      if (underWay.size === atOnce) await Promise.race(underWay.values());
    }
    this.#first = first;
    await Promise.all(underWay.values());
    return faults;
  }

  #inTurn<Value>(queues: RoundOfQueues<Value>['queues']): (readonly [string, Value])[] {
    const all = [...queues];
    const at = all.findIndex(([queue]) => queue === this.#first);
    return at < 0 ? all : [...all.slice(at), ...all.slice(0, at)];
  }
}
