import { CopyButton } from './copy-button.tsx';
import classes from './code-block.module.css';

/** A text in the mono font that can be copied, such as a command. */
export function CodeBlock({ text, label = 'Copy' }: { text: string; label?: string }) {
  return (
    <div className={classes['root']}>
      {/* It scrolls, so the keyboard has to reach it. */}
      <pre className={classes['text']} tabIndex={0} aria-label={label}>
        {text}
      </pre>
      <span className={classes['copy']}>
        <CopyButton value={text} label={label} />
      </span>
    </div>
  );
}
