import {
  IconBuilding,
  IconChartBar,
  IconCube,
  IconDatabase,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconList,
  IconPlayerPlay,
  IconStack2,
  IconWebhook,
} from '@tabler/icons-react';

/** The pages of the console in their groups, each with the key that leads there behind `g`. */
export const groups = [
  [
    { to: '/', word: 'Overview', key: 'o', icon: IconLayoutDashboard },
    { to: '/responses', word: 'Responses', key: 'r', icon: IconList },
    { to: '/queues', word: 'Queues', key: 'q', icon: IconStack2 },
    { to: '/models', word: 'Models', key: 'm', icon: IconCube },
    { to: '/tenants', word: 'Tenants', key: 't', icon: IconBuilding },
    { to: '/usage', word: 'Usage', key: 'u', icon: IconChartBar },
    { to: '/keys', word: 'Keys', key: 'k', icon: IconKey },
    { to: '/webhooks', word: 'Webhooks', key: 'w', icon: IconWebhook },
    { to: '/cells', word: 'Cells', key: 'c', icon: IconDatabase },
  ],
  [
    { to: '/playground', word: 'Playground', key: 'p', icon: IconPlayerPlay },
    { to: '/audit', word: 'Audit', key: 'a', icon: IconHistory },
  ],
] as const;

export const places = groups.flat();
