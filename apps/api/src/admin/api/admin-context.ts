import type { Settings } from '@sluice/config';
import type { Logger } from '@sluice/runtime';
import type { ServiceReports } from '../reports/service-reports.ts';

/** What the routes of the admin API work with, all together. */
export interface AdminContext {
  settings: Pick<Settings, 'models'>;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  /** Where the API answers. */
  apiUrl: () => string;
  /** What operators are told of the service as a whole. */
  reports: ServiceReports;
  logger: Logger;
}
