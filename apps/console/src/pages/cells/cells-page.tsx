import { Button } from '@mantine/core';
import type { CellList, CellRow } from '@sluice/contract/admin';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { adminQuery } from '../../api/query-client.ts';
import { DataTable } from '../../components/data-table.tsx';
import { notifyFailed } from '../../components/notify.ts';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import { QueryView } from '../../components/query-view.tsx';
import { useUnlocked } from '../../components/use-unlocked.ts';
import { AddCellDialog } from './add-cell-dialog.tsx';
import { cellColumns } from './cell-columns.tsx';
import { DrainCellDialog, RemoveCellDialog } from './cell-dialogs.tsx';
import { type CellAct, noteOf } from './cell-state.ts';
import classes from './cells.module.css';
import { useCellAct } from './use-cell-act.ts';

const refreshMs = 2_000;

/** The cells of the store: what is in each of them, and adding, draining, opening and removing one while the service runs. */
export function CellsPage() {
  const query = useQuery({ ...adminQuery<CellList>('/cells'), refetchInterval: refreshMs });
  const actOn = useCellAct();
  const unlocked = useUnlocked();
  const [isAdding, setIsAdding] = useState(false);
  const [draining, setDraining] = useState<CellRow>();
  const [removing, setRemoving] = useState<CellRow>();
  const acts: Record<CellAct, (row: CellRow) => void> = {
    drain: setDraining,
    open: (row) =>
      void actOn(row, 'open').catch((error: unknown) => notifyFailed('The cell was not opened', error)),
    remove: setRemoving,
  };
  return (
    <>
      <PageHeader
        title="Cells"
        description="The parts of the store, each with a Redis of its own. Each tenant has its new responses in one open cell, or in as many as its limits say. What is in a cell stays there until its retention is over."
        actions={
          <Button leftSection={<IconPlus size={16} />} onClick={() => unlocked(() => setIsAdding(true))}>
            Add a cell
          </Button>
        }
      />
      <QueryView query={query}>
        {({ data }) => (
          <>
            <Notes rows={data} />
            <Panel padded={false}>
              <DataTable
                label="Cells"
                columns={cellColumns(data, (asked, row) => unlocked(() => acts[asked](row)))}
                rows={data}
                rowKey={({ cell }) => cell}
              />
            </Panel>
            {data.length === 1 && (
              <p className={classes['hint']}>
                There is one cell. Add another one when Redis keeps a core busy.
              </p>
            )}
          </>
        )}
      </QueryView>
      <AddCellDialog isOpen={isAdding} onClose={() => setIsAdding(false)} />
      <DrainCellDialog shown={draining} onClose={() => setDraining(undefined)} />
      <RemoveCellDialog shown={removing} onClose={() => setRemoving(undefined)} />
    </>
  );
}

/** The notes of some cells, above the list. */
function Notes({ rows }: { rows: readonly CellRow[] }) {
  return rows.map((row) => {
    const note = noteOf(row);
    return (
      note && (
        <p
          key={row.cell}
          className={classes['note']}
          data-tone={note.tone}
          role={note.tone === 'bad' ? 'alert' : 'status'}
        >
          {note.text}
        </p>
      )
    );
  });
}
