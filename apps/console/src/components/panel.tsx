import { type ReactNode, useId } from 'react';
import classes from './panel.module.css';

interface PanelProps {
  title?: ReactNode;
  /** A quiet line beside the title. */
  note?: ReactNode;
  actions?: ReactNode;
  /** False: the content reaches the edges, as tables do. */
  padded?: boolean;
  children: ReactNode;
}

/** A surface with a heading that groups what belongs together. */
export function Panel({ title, note, actions, padded = true, children }: PanelProps) {
  const id = useId();
  return (
    <section className={classes['root']} aria-labelledby={title === undefined ? undefined : id}>
      {title !== undefined && (
        <div className={classes['head']}>
          <h2 className={classes['title']} id={id}>
            {title}
          </h2>
          {note !== undefined && <span className={classes['note']}>{note}</span>}
          {actions !== undefined && <div className={classes['actions']}>{actions}</div>}
        </div>
      )}
      <div className={padded ? classes['body'] : undefined}>{children}</div>
    </section>
  );
}
