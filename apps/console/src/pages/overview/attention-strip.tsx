import { Button } from '@mantine/core';
import type { Overview } from '@sluice/contract/admin';
import { IconAlertTriangle, IconArrowRight, IconCircleCheck, IconInfoTriangle } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { type Problem, problemsOf } from './attention.ts';
import classes from './attention-strip.module.css';

/** More are behind a button, so that the page under the strip stays in view. */
const shownFirst = 5;

/** The problems in sentences, each with a link to its page. One calm line if there are none, and the overview can be renewed. */
export function AttentionStrip({ overview, isStale }: { overview: Overview; isStale: boolean }) {
  const [showsAll, setShowsAll] = useState(false);
  const problems = problemsOf(overview, { isStale });
  const shown = showsAll ? problems : problems.slice(0, shownFirst);
  const rest = problems.length - shown.length;
  return (
    <section aria-label="Problems">
      {/* The figures in the sentences change all the time, so a screen reader is told only how many there are. */}
      <p className="visually-hidden" role="status">
        {summary(problems.length)}
      </p>
      {problems.length === 0 ? (
        <p className={classes['calm']}>
          <IconCircleCheck size={17} aria-hidden />
          Nothing needs attention.
        </p>
      ) : (
        <ul className={classes['list']}>
          {shown.map((problem) => (
            <ProblemLine key={problem.key} problem={problem} />
          ))}
          {rest > 0 && (
            <li className={classes['more']}>
              <Button variant="subtle" color="gray" size="compact-sm" onClick={() => setShowsAll(true)}>
                Show {rest} more
              </Button>
            </li>
          )}
        </ul>
      )}
    </section>
  );
}

function ProblemLine({ problem: { tone, text, look } }: { problem: Problem }) {
  const { word, to, search = {}, hash } = look;
  const Icon = tone === 'bad' ? IconAlertTriangle : IconInfoTriangle;
  return (
    <li className={classes['line']} data-tone={tone}>
      <Icon size={17} aria-label={tone === 'bad' ? 'Problem' : 'Warning'} role="img" />
      <span className={classes['text']}>{text}</span>
      <Link className={classes['look']} to={to} search={search} {...(hash !== undefined && { hash })}>
        {word}
        <IconArrowRight size={14} aria-hidden />
      </Link>
    </li>
  );
}

function summary(count: number): string {
  if (count === 0) return 'Nothing needs attention.';
  return count === 1 ? 'One thing needs attention.' : `${count} things need attention.`;
}
