import {
  IconActivity,
  IconBuilding,
  IconChartBar,
  IconCube,
  IconDatabase,
  IconExternalLink,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconList,
  IconPlayerPlay,
  IconStack2,
  IconWebhook,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import classes from './shell.module.css';

const groups = [
  [
    { to: '/', word: 'Overview', icon: IconLayoutDashboard },
    { to: '/responses', word: 'Responses', icon: IconList },
    { to: '/queues', word: 'Queues', icon: IconStack2 },
    { to: '/models', word: 'Models', icon: IconCube },
    { to: '/tenants', word: 'Tenants', icon: IconBuilding },
    { to: '/usage', word: 'Usage', icon: IconChartBar },
    { to: '/keys', word: 'Keys', icon: IconKey },
    { to: '/webhooks', word: 'Webhooks', icon: IconWebhook },
    { to: '/cells', word: 'Cells', icon: IconDatabase },
  ],
  [
    { to: '/playground', word: 'Playground', icon: IconPlayerPlay },
    { to: '/audit', word: 'Audit', icon: IconHistory },
  ],
] as const;

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
