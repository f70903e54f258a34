import { IconActivity, IconExternalLink } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { groups } from './places.ts';
import classes from './shell.module.css';

/** The pages of the console, and the other pages of the listener. */
export function Navigation({ inDrawer = false }: { inDrawer?: boolean }) {
  return (
    <nav className={classes['navigation']} data-drawer={inDrawer} aria-label="Console">
      {!inDrawer && (
        <Link to="/" className={classes['brand']}>
          <img src="/console/icon.svg" alt="" width={24} height={24} />
          Sluice
        </Link>
      )}
      {groups.map((group, at) => (
        <div key={group[0].to}>
          {at > 0 && <div className={classes['rule']} />}
          <ul className={classes['links']}>
            {group.map(({ to, word, icon: Icon }) => (
              <li key={to}>
                <Link
                  to={to}
                  className={classes['link']}
                  activeOptions={{ exact: to === '/', includeSearch: false }}
                >
                  <Icon size={18} stroke={1.7} aria-hidden />
                  {word}
                </Link>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <div className={classes['foot']}>
        <ul className={classes['links']}>
          <li>
            <a className={classes['link']} href="/queues">
              <IconExternalLink size={18} stroke={1.7} aria-hidden />
              Raw jobs
            </a>
          </li>
          <li>
            <a className={classes['link']} href="/metrics">
              <IconActivity size={18} stroke={1.7} aria-hidden />
              Metrics
            </a>
          </li>
        </ul>
      </div>
    </nav>
  );
}
