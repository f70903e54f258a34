import type { ReactNode } from 'react';
import { CopyButton } from './copy-button.tsx';
import classes from './id-text.module.css';

interface IdTextProps {
  id: string;
  /** The kind of thing with this id, for the label of the button: "response". */
  of?: string;
  /** Wraps the text, such as in a link. */
  wrap?: (text: ReactNode) => ReactNode;
  /** Shows its beginning and its end, without its prefix. The title has the whole id, and the button copies it. */
  short?: boolean;
}

/** An id in the mono font, with a button that copies it. */
export function IdText({ id, of = 'id', wrap = (text) => text, short = false }: IdTextProps) {
  const own = id.slice(id.indexOf('_') + 1);
  const shown = short && own.length > 16 ? `${own.slice(0, 8)}…${own.slice(-5)}` : id;
  const text = (
    <span className={classes['id']} title={id}>
      {shown}
    </span>
  );
  return (
    <span className={classes['root']}>
      {wrap(text)}
      <span className={classes['copy']}>
        <CopyButton value={id} label={of === 'id' ? 'Copy the id' : `Copy the id of the ${of}`} />
      </span>
    </span>
  );
}
