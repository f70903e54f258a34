import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function ResponsePage() {
  return (
    <>
      <PageHeader title="Response" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
