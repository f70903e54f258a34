import type { Act } from '@sluice/contract/admin';

/** Something that is done with many responses. */
export interface BulkWork {
  action: Act['action'];
  /** Names the responses, for people: a filter, a queue. */
  target: string;
  /** How many there are, as far as that is known beforehand. */
  total: number;
  /** Most that are looked at; as many as there are by default. */
  most?: number;
  /** Most that are begun in a second; as many as the service can by default. */
  perSecond?: number;
  ids: () => AsyncIterable<string[]>;
  /** Does it with one. False when there was nothing to do any more. */
  each: (responseId: string) => Promise<boolean>;
}
