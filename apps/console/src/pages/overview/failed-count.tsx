import { formatCount } from '../../format/numbers.ts';
import classes from './overview.module.css';

/** How many failed, in the colour of a problem when they are many of those that ended. */
export function FailedCount({ failed, share, text }: { failed: number; share: number | null; text: string }) {
  const tone = share === null || share < 0.05 ? undefined : share < 0.2 ? classes['warn'] : classes['bad'];
  return (
    <span className={tone} title={`${formatCount(failed)} failed`}>
      {text}
    </span>
  );
}
