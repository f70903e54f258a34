import { type ReactNode, useEffect } from 'react';
import classes from './page-header.module.css';

interface PageHeaderProps {
  title: string;
  /** Instead of `title` in the heading, such as an id that can be copied. */
  heading?: ReactNode;
  description?: ReactNode;
  /** Buttons at the right. */
  actions?: ReactNode;
}

/** The heading of a page: its one `h1`, and the title of the document. */
export function PageHeader({ title, heading, description, actions }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Sluice`;
  }, [title]);
  return (
    <header className={classes['root']}>
      <div className={classes['words']}>
        <h1 className={classes['title']}>{heading ?? title}</h1>
        {description !== undefined && <div className={classes['description']}>{description}</div>}
      </div>
      {actions !== undefined && <div className={classes['actions']}>{actions}</div>}
    </header>
  );
}
