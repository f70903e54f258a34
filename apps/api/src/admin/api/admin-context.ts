import type { LiveSettings, Settings } from '@sluice/config';
import type { Logger } from '@sluice/runtime';
import type { Acting } from '../acting/acting.ts';
import type { MatchingResponses } from '../acting/matching-responses.ts';
import type { DetailSources } from '../response-detail.ts';
import type { ResponseIndex } from '../response-index.ts';
import type { ServiceReports } from '../reports/service-reports.ts';

/** What the routes of the admin API work with, all together. */
export interface AdminContext {
  settings: Pick<Settings, 'console' | 'models'>;
  live: Pick<LiveSettings, 'limits'>;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  acting: Acting;
  /** The development key while it is taken. */
  developmentKey: () => Promise<string | undefined>;
  /** Where the API answers. */
  apiUrl: () => string;
  /** The responses of all tenants, as the journal has them. */
  index: ResponseIndex;
  /** Finds what is acted on; the index itself. */
  matching: MatchingResponses;
  /** What the detail of a response is made from. */
  detail: DetailSources;
  /** What operators are told of the service as a whole. */
  reports: ServiceReports;
  logger: Logger;
}
