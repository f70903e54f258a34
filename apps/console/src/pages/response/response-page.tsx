import type { ResponseDetail } from '@sluice/contract/admin';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { adminQuery } from '../../api/query-client.ts';
import { IdText } from '../../components/id-text.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { EmptyState } from '../../components/states.tsx';
import { StatusBadge } from '../../components/status-badge.tsx';
import { Duration, Moment } from '../../components/times.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { modeWords } from '../responses/row-columns.tsx';
import { isOpen } from '../responses/row-times.ts';
import { AttemptsPanel } from './attempts-panel.tsx';
import { ContentPanel } from './content-panel.tsx';
import { JournalPanel } from './journal-panel.tsx';
import { PhaseBar } from './phase-bar-view.tsx';
import { ResponseActs } from './response-acts.tsx';
import classes from './response.module.css';
import { TailPanel } from './tail-panel.tsx';

const whileOpenMs = 1_000;
const whenEndedMs = 15_000;

/** One response: its phases, its outcome and its acts. Its content is shown on demand. */
export function ResponsePage() {
  const { id } = useParams({ strict: false });
  if (id === undefined) return null;
  return isId(id) ? <Detail key={id} id={id} /> : <NoSuchResponse id={id} />;
}

/** No response has an id of another shape, and the service would call it invalid. */
function isId(id: string): boolean {
  return /^(?:create-response|resp)_[A-Za-z0-9]{1,64}$/.test(id);
}

function NoSuchResponse({ id }: { id: string }) {
  return (
    <>
      <PageHeader title="Response not found" description={<Link to="/responses">All responses</Link>} />
      <EmptyState title="There is no such response">
        <code>{id}</code> is not the id of a response. An id of a request begins with <code>req_</code>, and
        is found by the search among all responses.
      </EmptyState>
    </>
  );
}

function Detail({ id }: { id: string }) {
  const query = useQuery({
    ...adminQuery<ResponseDetail>(`/responses/${encodeURIComponent(id)}`),
    refetchInterval: ({ state }) => (state.data && isOpen(state.data.row) ? whileOpenMs : whenEndedMs),
  });
  return (
    <>
      <PageHeader
        title={`Response ${id}`}
        heading={<IdText id={id} of="response" />}
        description={<Link to="/responses">All responses</Link>}
        actions={query.data && <ResponseActs detail={query.data} />}
      />
      <QueryView query={query}>{(detail) => <Panels detail={detail} />}</QueryView>
    </>
  );
}

function Panels({ detail }: { detail: ResponseDetail }) {
  const { row, is_kept: isKept, error, incomplete_reason: reason } = detail;
  return (
    <div className={classes['panels']}>
      {!isKept && (
        <p className={classes['note']} role="status">
          The response itself is no longer kept: it was deleted, or has expired. This is what the journal
          says.
        </p>
      )}
      <Panel title="Details">
        <Facts detail={detail} />
        <Retries detail={detail} />
        {(error !== null || reason !== null) && (
          <p className={classes['error']}>
            <code>{error?.code ?? reason}</code> {error?.message}
          </p>
        )}
      </Panel>
      <Panel title="Where its time went">
        <PhaseBar phases={detail.phases} />
      </Panel>
      <AttemptsPanel attempts={detail.attempts} />
      <TailPanel id={row.id} events={detail.events} />
      {isKept && <ContentPanel id={row.id} />}
      <RequestPanel detail={detail} />
      <JournalPanel journal={detail.journal} journal_left_out={detail.journal_left_out} />
    </div>
  );
}

/** A retry by an operator is another response, in the background, whatever the mode of the first. */
function Retries({ detail: { retry_of: retryOf, retried_as: copies } }: { detail: ResponseDetail }) {
  return (
    <>
      {retryOf !== null && (
        <p className={classes['note']}>
          An operator retried <ResponseLink id={retryOf} /> as this one. It runs in the background, and its
          answer is stored.
        </p>
      )}
      {copies.map((id) => (
        <p key={id} className={classes['note']}>
          An operator retried it as <ResponseLink id={id} />, in the background.
        </p>
      ))}
    </>
  );
}

function ResponseLink({ id }: { id: string }) {
  return (
    <Link to="/responses/$id" params={{ id }}>
      <code>{id}</code>
    </Link>
  );
}

function Facts({ detail }: { detail: ResponseDetail }) {
  const { row, usage, queue_position: position, estimated_start_at: startsAt } = detail;
  return (
    <dl className={classes['facts']}>
      <Fact name="Status">
        <StatusBadge status={row.status} />
      </Fact>
      <Fact name="Tenant">
        <Link to="/responses" search={{ tenant: [row.tenant] }}>
          <bdi>{row.tenant}</bdi>
        </Link>
      </Fact>
      <Fact name="Model">{row.model}</Fact>
      <Fact name="Mode">{modeWords[row.mode]}</Fact>
      <Fact name="Tier">{row.tier}</Fact>
      <Fact name="Accepted">
        <Moment at={row.accepted_at} />
      </Fact>
      {row.ended_at !== null && (
        <Fact name="Took">
          <Duration ms={row.ended_at - row.accepted_at} />
        </Fact>
      )}
      {row.first_output_at !== null && (
        <Fact name="First output after">
          <Duration ms={row.first_output_at - row.accepted_at} />
        </Fact>
      )}
      {position !== null && (
        <Fact name="Place in its queue">
          {formatCount(position)}
          {startsAt !== null && (
            <>
              , starts <Moment at={startsAt} />
            </>
          )}
        </Fact>
      )}
      <Fact name="Attempts">{formatCount(row.attempts)}</Fact>
      <Fact name="Input tokens">{formatCount(usage?.input_tokens ?? row.input_tokens)}</Fact>
      <Fact name="Output tokens">{formatCount(usage?.output_tokens ?? row.output_tokens)}</Fact>
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** The request besides its content. */
function RequestPanel({ detail }: { detail: ResponseDetail }) {
  const {
    metadata,
    parameters,
    previous_response_id: previous,
    input_bytes: bytes,
    request_id: request,
  } = detail;
  const pairs = Object.entries(metadata);
  return (
    <Panel title="Request parameters">
      <dl className={classes['facts']}>
        {request !== null && <Fact name="Request">{<IdText id={request} of="request" />}</Fact>}
        <Fact name="Input">{formatBytes(bytes)}</Fact>
        {previous !== null && (
          <Fact name="Continues from">
            <Link to="/responses/$id" params={{ id: previous }}>
              <code>{previous}</code>
            </Link>
          </Fact>
        )}
      </dl>
      {pairs.length > 0 && (
        <ul className={classes['metadata']} aria-label="Metadata">
          {pairs.map(([key, value]) => (
            <li key={key}>
              <Link to="/responses" search={{ metadata: [`${key}:${value}`] }}>
                <code>
                  {key}: {value}
                </code>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {Object.keys(parameters).length > 0 && (
        <pre className={classes['parameters']} tabIndex={0} aria-label="Parameters">
          {JSON.stringify(parameters, undefined, 2)}
        </pre>
      )}
    </Panel>
  );
}
