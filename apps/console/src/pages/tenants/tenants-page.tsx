import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function TenantsPage() {
  return (
    <>
      <PageHeader title="Tenants" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
