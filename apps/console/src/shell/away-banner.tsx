import { IconCloudOff } from '@tabler/icons-react';
import { useSyncExternalStore } from 'react';
import { reachability } from '../api/reachability.ts';
import classes from './shell.module.css';

/** Says above every page that the service does not answer, as long as it does not. */
export function AwayBanner() {
  const answers = useSyncExternalStore(reachability.subscribe, () => reachability.answers);
  return (
    <div role="status">
      {!answers && (
        <p className={classes['away']}>
          <IconCloudOff size={16} aria-hidden />
          <span>The service does not answer. This page may be out of date. It tries again by itself.</span>
        </p>
      )}
    </div>
  );
}
