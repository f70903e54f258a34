import { randomFrom } from '@sluice/testing';
import { type FaultSite, type FaultSiteOptions, startFaultSite } from './fault-site.ts';
import { type Fault, faults, nameOf, type Place, places } from './matrix.ts';
import { runRound, type Try } from './round.ts';

export interface MatrixOptions extends Omit<FaultSiteOptions, 'settings' | 'env'> {
  /** Cells whose name contains this, in any case. Default: all. */
  only?: string;
  /** Undefined for all. */
  faults?: readonly Fault[];
  /** How many responses each cell sees. */
  tries: number;
  seed: number;
  /** How many sites work at a time. */
  lanes: number;
  /** After this long a caller gives up, in milliseconds. */
  patienceMs?: number;
  /** Called when a round is over. */
  onRound?: (fault: Fault, tries: readonly Try[]) => void;
}

/** What came of each fault. A promise rejects if its responses could not be put into their places. */
export type MatrixRun = Map<Fault, Promise<Try[]>>;

/** Far longer than anything that works takes. */
const defaultPatienceMs = 45_000;

/** Most responses in each cell at a time. */
const mostEach = 4;

/** The places whose name contains a text, in any case. */
export function placesFor(only = ''): Place[] {
  return places.filter((place) => nameOf(place).toLowerCase().includes(only.toLowerCase()));
}

/**
 * Starts the rounds of every fault, on as many sites as there are lanes. `done` settles when every site has stopped; it
 * rejects if one could not be started or stopped.
 */
export function startMatrix(options: MatrixOptions): { rounds: MatrixRun; done: Promise<void> } {
  const { lanes } = options;
  const wanted = placesFor(options.only);
  const waiting = (options.faults ?? faults).filter((fault) => wanted.some((place) => place.fault === fault));
  const results = new Map(waiting.map((fault) => [fault, Promise.withResolvers<Try[]>()] as const));
  for (const { promise } of results.values()) promise.catch(() => undefined); // whoever awaits it sees it
  const lane = async () => {
    await using site = await startFaultSite(options);
    for (let fault = waiting.shift(); fault !== undefined; fault = waiting.shift()) {
      const result = results.get(fault);
      try {
        result?.resolve(await roundsOf(site, fault, options));
      } catch (error) {
        result?.reject(error);
        // The site may be in pieces: nothing that it says of another fault would count.
        throw error;
      }
    }
  };
  const done = Promise.allSettled(Array.from({ length: Math.min(lanes, waiting.length) }, lane)).then(
    (outcomes) => {
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (!failure) return;
      for (const { reject } of results.values()) reject(failure.reason);
      throw failure.reason;
    },
  );
  return { rounds: new Map([...results].map(([fault, { promise }]) => [fault, promise])), done };
}

async function roundsOf(site: FaultSite, fault: Fault, options: MatrixOptions): Promise<Try[]> {
  const random = randomFrom(options.seed + faults.indexOf(fault));
  const tries: Try[] = [];
  for (let left = options.tries; left > 0; left -= mostEach) {
    const round = await runRound(site, {
      fault,
      places: placesFor(options.only).filter((place) => place.fault === fault),
      each: Math.min(left, mostEach),
      random,
      patienceMs: options.patienceMs ?? defaultPatienceMs,
    });
    options.onRound?.(fault, round);
    tries.push(...round);
  }
  return tries;
}
