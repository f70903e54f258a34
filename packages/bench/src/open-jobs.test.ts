import { describe, expect, it } from 'vitest';
import { openJobs } from './open-jobs.ts';

describe('openJobs', () => {
  it('adds what waits and runs, and nothing that has finished', () => {
    const metrics = [
      '# TYPE sluice_queue_jobs gauge',
      'sluice_queue_jobs{queue="m",state="waiting",role="api"} 3',
      'sluice_queue_jobs{queue="m",state="active",role="api"} 2',
      'sluice_queue_jobs{queue="m",state="completed",role="api"} 100',
    ].join('\n');
    expect(openJobs(metrics)).toBe(5);
  });

  it('rejects metrics without a queue: they would look like an empty one', () => {
    expect(() => openJobs('up 1')).toThrow('tell nothing');
  });
});
