import type { Session } from '@sluice/contract/admin';
import type { MockRoute } from './mock-route.ts';

export const sessionRoutes: readonly MockRoute[] = [
  {
    method: 'GET',
    path: '/session',
    answer: ({ headers }): Session => ({
      object: 'session',
      takes_development_key: true,
      development_key: 'sk-sluice-dev-of-the-mock',
      version: '0.1.0',
      api_url: 'http://127.0.0.1:3000',
      acting: headers['sluice-action-token'] === 'mock' ? 'open' : 'locked',
      journal: true,
      statistics: true,
      models: ['qwen3-8b', 'gpt-oss-20b'],
    }),
  },
];
