import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function AuditPage() {
  return (
    <>
      <PageHeader title="Audit" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
