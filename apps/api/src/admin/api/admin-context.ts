import type { Settings } from '@sluice/config';
import type { Operator } from '@sluice/operator';
import type { Logger } from '@sluice/runtime';
import type { LiveSettings } from '@sluice/tenants';
import type { UsageContext } from '../../routes/usage.ts';
import type { RefusedTokens } from './refused-tokens.ts';

/** Everything that the routes of the admin API work with. */
export interface AdminContext {
  settings: Pick<Settings, 'console' | 'models'>;
  live: Pick<LiveSettings, 'limits'>;
  operator: Operator;
  /** Undefined: nothing can be changed. */
  actionToken: string | undefined;
  /** Counts wrong action tokens. */
  failedTokens: RefusedTokens;
  /** The development key while it is taken. */
  developmentKey: () => Promise<string | undefined>;
  /** Where the API answers. */
  apiUrl: () => string;
  /** Undefined where usage is not counted. */
  usage: UsageContext['usage'];
  logger: Logger;
}
