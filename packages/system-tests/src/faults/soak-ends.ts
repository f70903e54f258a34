import { outOfPatience, type Told } from './followed-response.ts';

/** A kill and what it takes to have another process in the place, by the clock of this process. */
export interface Kill {
  from: number;
  /** Infinite as long as it lasts. */
  to: number;
}

/** A request of the soak, from its start to what its caller was told. */
export interface SoakRequest {
  sentAt: number;
  told: Told;
  at: number;
  isLeaving: boolean;
}

/** The status of the response, or how its caller was left without one. */
export function endOf(told: Told): string {
  return told.kind === 'end' ? (JSON.parse(told.json) as { status: string }).status : told.kind; // the checks of the matrix read the rest
}

/** Whether a request may have ended as it did: completed, left by its caller, or hit by a kill. None may wait until its caller gives up. */
export function isExplained({ sentAt, told, at, isLeaving }: SoakRequest, kills: readonly Kill[]): boolean {
  if (told.kind === 'broken' && (isLeaving || told.reason === outOfPatience)) return isLeaving;
  return endOf(told) === 'completed' || kills.some(({ from, to }) => from < at && to > sentAt);
}
