import type { Settings } from '@sluice/config';
import type { Logger } from '@sluice/runtime';
import type { DetailSources } from '../response-detail.ts';
import type { ResponseIndex } from '../response-index.ts';

/** What the routes of the admin API work with, all together. */
export interface AdminContext {
  settings: Pick<Settings, 'models'>;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  /** Where the API answers. */
  apiUrl: () => string;
  index: ResponseIndex;
  /** What the detail of a response is made from. */
  detail: DetailSources;
  logger: Logger;
}
