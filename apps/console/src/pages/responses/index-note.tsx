import { Alert } from '@mantine/core';
import type { ResponseRows } from '@sluice/contract/admin';
import { formatCount } from '../../format/numbers.ts';

/** Says that the list is incomplete: while the index loads, or when there is none. */
export function IndexNote({ index }: { index: ResponseRows['index'] | undefined }) {
  switch (index?.state) {
    case 'loading':
      return (
        <Alert
          color="blue"
          role="status"
          title={`Reading the journal: ${Math.floor(index.loaded_percent)} %`}
        >
          {formatCount(index.size)} responses so far, the newest first. Counts grow until it is done.
        </Alert>
      );
    case 'off':
      return (
        <Alert color="gray" title="No journal is kept">
          The setting <code>console.journal</code> is off, so there is no list of responses. One of which you
          know the id can be opened by it.
        </Alert>
      );
    case 'unavailable':
      return (
        <Alert color="yellow" role="status" title="The journal cannot be read at the moment">
          This list may be out of date. It goes on by itself when Redis answers.
        </Alert>
      );
    case 'ready':
      return index.is_reduced === true ? (
        <Alert color="yellow" role="status" title="This list is shorter than it should be">
          The index ran out of memory, and keeps fewer responses since then: {formatCount(index.size)} now.
          The log of the api has more; see <code>console.keep</code> of the settings.
        </Alert>
      ) : null;
    case undefined:
      return null;
  }
}
