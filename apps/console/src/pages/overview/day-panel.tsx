import type { Facets } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { recentQuery } from '../../api/query-client.ts';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { formatCount } from '../../format/numbers.ts';
import classes from './overview.module.css';

const dayMs = 24 * 3_600_000;
/** How often it is read again, in milliseconds. */
const everyMs = 60_000;
/** The same while the index still reads the journal, and the counts are incomplete. */
const loadingEveryMs = 2_000;
/** Values of each field that are shown; the list of responses has the others. */
const mostValues = 8;

const fields = [
  ['model', 'By model'],
  ['tenant', 'By tenant'],
  ['error_code', 'By error'],
] as const;

/** The responses of the last day by model, tenant and error, as far as the journal goes back. */
export function DayPanel() {
  const query = useQuery({
    ...recentQuery<Facets>('/responses/facets', {
      key: { since: '24h' },
      search: (nowMs) => ({ from: nowMs - dayMs }),
    }),
    refetchInterval: ({ state }) => (state.data?.index.state === 'loading' ? loadingEveryMs : everyMs),
  });
  if (query.data?.index.state === 'off') return null;
  const index = query.data?.index;
  const note =
    index?.state === 'loading'
      ? `responses in the journal, of which ${Math.floor(index.loaded_percent)} % is read`
      : 'responses in the journal';
  return (
    <Panel title="The last day" note={note}>
      <QueryView query={query}>
        {(facets) => (
          <div className={classes['day']}>
            {fields.map(([field, title]) => (
              <div key={field}>
                <h3>{title}</h3>
                <ul>
                  {(facets.fields[field] ?? []).slice(0, mostValues).map(({ value, count }) => (
                    <li key={value}>
                      <Link to="/responses" search={{ [field]: [value], since: ['24h'] }} title={value}>
                        {value}
                      </Link>
                      <span>{formatCount(count)}</span>
                    </li>
                  ))}
                  {(facets.fields[field] ?? []).length === 0 && <li>None</li>}
                </ul>
              </div>
            ))}
          </div>
        )}
      </QueryView>
    </Panel>
  );
}
