import { Button } from '@mantine/core';
import { IconMap2 } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { PageHeader } from '../components/page-header.tsx';
import { EmptyState } from '../components/states.tsx';

/** The page of an address that the console does not have. */
export function NotFound() {
  return (
    <>
      <PageHeader title="Not found" />
      <EmptyState
        title="The console has no such page"
        icon={<IconMap2 size={26} stroke={1.5} />}
        action={
          <Button component={Link} to="/" variant="default">
            Go to the overview
          </Button>
        }
      >
        The address may be misspelled, or from another version.
      </EmptyState>
    </>
  );
}
