import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function KeysPage() {
  return (
    <>
      <PageHeader title="Keys" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
