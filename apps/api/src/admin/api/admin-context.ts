import type { Settings } from '@sluice/config';
import type { Logger } from '@sluice/runtime';

/** What the routes of the admin API work with, all together. */
export interface AdminContext {
  settings: Pick<Settings, 'models'>;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  /** Where the API answers. */
  apiUrl: () => string;
  logger: Logger;
}
