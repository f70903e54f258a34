import type { Overview } from '@sluice/contract/admin';
import { useDeferredValue } from 'react';
import { PageHeader } from '../../components/page-header.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { EmptyState } from '../../components/states.tsx';
import { AttentionStrip } from './attention-strip.tsx';
import { useSession } from '../../api/session.ts';
import { hasStatistics } from './attention.ts';
import { DayPanel } from './day-panel.tsx';
import { ErrorsPanel } from './errors-panel.tsx';
import { OverviewCharts } from './overview-charts.tsx';
import { ModelsPanel } from './models-panel.tsx';
import classes from './overview.module.css';
import { QueuesPanel } from './queues-panel.tsx';
import { RedisPanel } from './redis-panel.tsx';
import { StatTiles } from './stat-tiles.tsx';
import { TenantsPanel } from './tenants-panel.tsx';
import { UpstreamsPanel } from './upstreams-panel.tsx';
import { useOverview } from './use-overview.ts';
import { WorkersPanel } from './workers-panel.tsx';

/** The page that an operator sees first: whether something is wrong, how much there is to do, and who does it. */
export function OverviewPage() {
  const query = useOverview();
  return (
    <>
      <PageHeader title="Overview" />
      <QueryView query={query}>
        {(overview) => <Content overview={overview} isStale={query.error !== null} />}
      </QueryView>
    </>
  );
}

function Content({ overview, isStale }: { overview: Overview; isStale: boolean }) {
  const hasNumbers = hasStatistics(overview);
  // The parts that an operator looks at first are painted first. Charts take longer to draw than all tiles together.
  const showsRest = useDeferredValue(true, false);
  return (
    <div className={classes['page']}>
      <AttentionStrip overview={overview} isStale={isStale} />
      <StatTiles overview={overview} />
      {showsRest && <Rest overview={overview} hasNumbers={hasNumbers} />}
    </div>
  );
}

function Rest({ overview, hasNumbers }: { overview: Overview; hasNumbers: boolean }) {
  return (
    <>
      {hasNumbers ? <OverviewCharts overview={overview} /> : <NoStatistics />}
      <div className={classes['columns']}>
        <QueuesPanel overview={overview} />
        {hasNumbers && <ErrorsPanel overview={overview} />}
        {hasNumbers && <ModelsPanel overview={overview} />}
        {hasNumbers && <TenantsPanel overview={overview} />}
      </div>
      <DayPanel />
      {hasNumbers && <WorkersPanel overview={overview} />}
      <div className={classes['columns']}>
        {hasNumbers && <UpstreamsPanel overview={overview} />}
        <RedisPanel redis={overview.redis} />
      </div>
    </>
  );
}

function NoStatistics() {
  const { data: session } = useSession();
  if (session?.statistics !== false) {
    return (
      <EmptyState title="The statistics cannot be read at the moment">
        The queues and Redis are all that is known here. This page shows the rest as soon as it can.
      </EmptyState>
    );
  }
  return (
    <EmptyState title="The service keeps no statistics">
      Its setting <code>console.statistics</code> is off, so the queues and Redis are all that is known here.
      With it on, this page shows the last hour, the workers and the upstreams.
    </EmptyState>
  );
}
