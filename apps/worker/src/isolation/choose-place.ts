/** Most processes at once. Each takes the memory of a small worker. */
export const mostProcesses = 4;

/** How many of them may be taken by one response each, so that others always have a place. */
const mostTaken = 3;

/** How many of those may be taken by responses of one tenant, so that those of another do not wait for all of its runs. */
const mostTakenByTenant = 2;

/** A process that runs suspects. */
export interface Place {
  runs: { readonly size: number };
  /** Whether its response has to be alone. */
  isTaken: boolean;
  /** The tenant of the response that was put there last. */
  tenant: string;
}

/**
 * Chooses where a suspect runs: in a process that there is, or in a new one; undefined when it has to wait. Suspects are
 * spread over as many processes as are allowed, so that as few as possible run beside the culprit.
 */
export function choosePlace<Process extends Place>(
  processes: readonly Process[],
  {
    tenant,
    mustBeAlone,
    dying,
  }: { tenant: string; mustBeAlone: boolean /** Processes that cannot be used any more. */; dying: number },
): Process | 'new' | undefined {
  const free = processes.find(({ runs }) => runs.size === 0);
  const isFull = processes.length + dying >= mostProcesses;
  if (mustBeAlone) {
    const taken = processes.filter(({ isTaken, runs }) => isTaken && runs.size > 0);
    const own = taken.filter((each) => each.tenant === tenant);
    if (taken.length >= mostTaken || own.length >= mostTakenByTenant) return undefined;
    return free ?? (isFull ? undefined : 'new');
  }
  if (free) return free;
  if (!isFull) return 'new';
  const shared = processes.filter(({ isTaken }) => !isTaken);
  return shared.toSorted((one, other) => one.runs.size - other.runs.size)[0];
}
