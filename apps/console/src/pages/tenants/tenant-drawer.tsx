import { Button, Drawer } from '@mantine/core';
import type { TenantReportRow } from '@sluice/contract/admin';
import { limitNames, tenantLimits } from '@sluice/contract/tenant-limits';
import { IconAdjustments, IconKey, IconList } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { Meter, toneOfUse } from '../../components/meter.tsx';
import { EmptyState } from '../../components/states.tsx';
import { useLast } from '../../components/use-last.ts';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { formatBytes, formatCount, unknown } from '../../format/numbers.ts';
import { otherwiseWords } from '../keys/key-limits.tsx';
import { LimitsDialog } from './limits-dialog.tsx';
import { Share } from './tenant-columns.tsx';
import { type MeasuredLimit, measuredLimits, shareWords } from './tenant-rows.ts';
import classes from './tenants.module.css';

interface TenantDrawerProps {
  /** The tenant that the address names; closed when that is empty. */
  name: string;
  /** Undefined when the service knows none of this name. */
  tenant: TenantReportRow | undefined;
  onClose: () => void;
}

/** Everything about one tenant, beside the list. */
export function TenantDrawer({ name, tenant, onClose }: TenantDrawerProps) {
  const shown = useLast(name === '' ? undefined : name) ?? '';
  const row = useLast(tenant);
  return (
    <Drawer
      opened={name !== ''}
      onClose={onClose}
      position="right"
      size="26rem"
      title={<bdi className={classes['title']}>{shown}</bdi>}
    >
      {row?.tenant === shown ? (
        <Details row={row} />
      ) : (
        <EmptyState title="There is no such tenant">
          No key in effect belongs to a tenant of this name.
        </EmptyState>
      )}
    </Drawer>
  );
}

function Details({ row }: { row: TenantReportRow }) {
  const { tenant, weight, tiers, models, limits, use, keys } = row;
  const unlocked = useUnlocked();
  const [isChanging, setChanging] = useState(false);
  return (
    <div className={classes['details']}>
      <div className={classes['links']}>
        <Button
          variant="default"
          leftSection={<IconList size={16} />}
          renderRoot={(props) => <Link {...props} to="/responses" search={{ tenant: [tenant] }} />}
        >
          Its responses
        </Button>
        <Button
          variant="default"
          leftSection={<IconKey size={16} />}
          renderRoot={(props) => <Link {...props} to="/keys" search={{ tenant: [tenant] }} />}
        >
          Its keys ({formatCount(keys)})
        </Button>
        <Button
          variant="default"
          leftSection={<IconAdjustments size={16} />}
          onClick={() => unlocked(() => setChanging(true))}
        >
          Change limits
        </Button>
        <LimitsDialog row={row} isOpen={isChanging} onClose={() => setChanging(false)} />
      </div>
      <section>
        <h2>Share</h2>
        <Share row={row} />
        <p className={classes['note']}>{shareWords(row.share, row.fair_share)}.</p>
      </section>
      <section>
        <h2>Limits and use</h2>
        <ul className={classes['limits']}>
          {measuredLimits(row).map((limit) => (
            <LimitLine key={limit.key} limit={limit} />
          ))}
        </ul>
        <p className={classes['note']}>
          {use.in_line === null
            ? 'It may use every slot, so nothing waits in line.'
            : `${formatCount(use.in_line)} in line: they come into their queue as others of this tenant end.`}
        </p>
      </section>
      <section>
        <h2>Rules</h2>
        <dl className={classes['rules']}>
          <dt>Weight</dt>
          <dd>{formatCount(weight)}</dd>
          {limitNames
            .map((name) => tenantLimits[name])
            .filter(({ use: counted }) => counted === null)
            .map((limit) => (
              <Fragment key={limit.wire}>
                <dt>{limit.label}</dt>
                <dd>
                  {limits[limit.wire] === null ? otherwiseWords(limit) : formatCount(limits[limit.wire])}
                </dd>
              </Fragment>
            ))}
          <dt>Tiers</dt>
          <dd>{tiers.join(', ')}</dd>
          <dt>Models</dt>
          <dd>{models.includes('*') ? 'all' : models.join(', ')}</dd>
        </dl>
      </section>
    </div>
  );
}

function LimitLine({ limit: { label, used, max, isBytes } }: { limit: MeasuredLimit }) {
  const format = isBytes ? formatBytes : formatCount;
  const text = max === null ? (used === null ? unknown : format(used)) : `${format(used)} of ${format(max)}`;
  return (
    <li>
      <span>{label}</span>
      <span className={classes['figure']}>
        {text}
        {max === null && <span className={classes['of']}> (no limit)</span>}
      </span>
      {max !== null && used !== null && (
        <Meter label={label} value={used} max={max} text={text} tone={toneOfUse(used, max)} />
      )}
    </li>
  );
}
