import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function QueuesPage() {
  return (
    <>
      <PageHeader title="Queues" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
