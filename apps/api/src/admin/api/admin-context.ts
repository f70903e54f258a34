import type { LiveSettings, Settings } from '@sluice/config';
import type { Logger } from '@sluice/runtime';
import type { Acting } from '../acting/acting.ts';
import type { ResponseIndex } from '../acting/matching-responses.ts';

/** What the routes of the admin API work with, all together. */
export interface AdminContext {
  settings: Pick<Settings, 'models'>;
  live: Pick<LiveSettings, 'limits'>;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  acting: Acting;
  /** Finds responses by filters; undefined where the service keeps no journal. */
  index: ResponseIndex | undefined;
  /** Where the API answers. */
  apiUrl: () => string;
  logger: Logger;
}
