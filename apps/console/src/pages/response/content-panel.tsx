import { Button } from '@mantine/core';
import type { ResponseContent } from '@sluice/contract/admin';
import { IconEye } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { act } from '../../api/request.ts';
import { notifyFailed } from '../../components/notify.ts';
import { Panel } from '../../components/panel.tsx';
import { itemText } from './item-text.ts';
import classes from './response.module.css';

/** Prompt and answer, hidden until somebody who may act asks for them. The service writes down that they were asked for. */
export function ContentPanel({ id }: { id: string }) {
  const reveal = useMutation({
    mutationFn: () => act<ResponseContent>('GET', `/responses/${encodeURIComponent(id)}/content`),
    onError: (error) => notifyFailed('The content was not shown', error),
  });
  const content = reveal.data;
  return (
    <Panel
      title="Prompt and answer"
      actions={
        <Button
          variant="default"
          leftSection={<IconEye size={16} />}
          loading={reveal.isPending}
          onClick={() => reveal.mutate()}
        >
          {content === undefined ? 'Show' : 'Read again'}
        </Button>
      }
    >
      {content === undefined ? (
        <p className={classes['hidden']}>
          Hidden. Showing it needs the action token, and is written to the audit log.
        </p>
      ) : (
        <>
          {typeof content.instructions === 'string' && (
            <Item title="Instructions" text={content.instructions} />
          )}
          {content.input.map((item, at) => (
            <Item key={`in-${at}`} {...itemText(item)} />
          ))}
          {content.output.map((item, at) => (
            <Item key={`out-${at}`} {...itemText(item)} isOutput />
          ))}
        </>
      )}
    </Panel>
  );
}

function Item({ title, text, isOutput = false }: { title: string; text: string; isOutput?: boolean }) {
  return (
    <section className={classes['content']} data-output={isOutput} aria-label={title}>
      <h3>{title}</h3>
      {/* Text alone: whatever a prompt says, it is never markup here. */}
      <pre>{text}</pre>
    </section>
  );
}
