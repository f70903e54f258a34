import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function ResponsesPage() {
  return (
    <>
      <PageHeader title="Responses" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
