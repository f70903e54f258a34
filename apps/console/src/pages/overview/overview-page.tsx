import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function OverviewPage() {
  return (
    <>
      <PageHeader title="Overview" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
