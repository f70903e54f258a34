import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState } from '../../components/states.tsx';

export function PlaygroundPage() {
  return (
    <>
      <PageHeader title="Playground" />
      <EmptyState title="This page is not built yet" />
    </>
  );
}
