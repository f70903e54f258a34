import { Button, Checkbox, PasswordInput, SegmentedControl } from '@mantine/core';
import type { Session } from '@sluice/contract/admin';
import { IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import { useState } from 'react';
import { ApiError } from '../../api/api-error.ts';
import { useSession } from '../../api/session.ts';
import { CodeBlock } from '../../components/code-block.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Panel } from '../../components/panel.tsx';
import classes from './playground.module.css';
import { keepForm, readForm } from './kept-form.ts';
import { bodyOf, type FormProblem, requestFields, type RequestForm } from './request-body.ts';
import { RequestFields } from './request-form.tsx';
import { RunView } from './run-view.tsx';
import { type Snippets, snippetsOf } from './snippets.ts';
import { type Runner, useRun } from './use-run.ts';

const keyName = 'sluice-playground-key';
const languages: { value: keyof Snippets; label: string }[] = [
  { value: 'curl', label: 'curl' },
  { value: 'node', label: 'Node.js' },
  { value: 'python', label: 'Python' },
];

/** A request to try, alone or beside another one. It is sent with the key of a tenant, and counts as any other. */
export function PlaygroundPage() {
  const { data: session } = useSession();
  const models = session?.models ?? [];
  const [typedKey, setTypedKey] = useState(() => sessionStorage.getItem(keyName));
  // If the service takes its development key, a tab that may act needs no other.
  const apiKey = typedKey ?? session?.development_key ?? '';
  const [isCompared, setCompared] = useState(false);
  const first = useSide('first', models[0] ?? '');
  const second = useSide('second', models[1] ?? models[0] ?? '');
  const sides = isCompared ? [first, second] : [first];
  const isRunning = sides.some(({ runner }) => runner.run?.state === 'running');
  const takeKey = (key: string) => {
    setTypedKey(key);
    sessionStorage.setItem(keyName, key);
  };
  return (
    <>
      <PageHeader
        title="Playground"
        description="Requests go to the API with the key of a tenant, within its limits."
        actions={
          isRunning ? (
            <Button
              variant="default"
              leftSection={<IconPlayerStop size={16} />}
              onClick={() => {
                for (const { runner } of sides) runner.stop();
              }}
            >
              Stop
            </Button>
          ) : (
            <Button
              leftSection={<IconPlayerPlay size={16} />}
              disabled={apiKey === ''}
              onClick={() => {
                for (const side of sides) side.send(apiKey);
              }}
            >
              Send
            </Button>
          )
        }
      />
      <div className={classes['top']}>
        <PasswordInput
          label="API key"
          description={keyHint(session, typedKey)}
          placeholder="sk-…"
          autoComplete="off"
          value={apiKey}
          onChange={(event) => takeKey(event.currentTarget.value.trim())}
        />
        <Checkbox
          label="Two side by side"
          checked={isCompared}
          onChange={(event) => setCompared(event.currentTarget.checked)}
        />
      </div>
      <div className={classes['sides']} data-compared={isCompared}>
        <Side
          side={first}
          models={models}
          apiUrl={session?.api_url ?? ''}
          name={isCompared ? 'First' : undefined}
        />
        {isCompared && <Side side={second} models={models} apiUrl={session?.api_url ?? ''} name="Second" />}
      </div>
    </>
  );
}

function keyHint(session: Session | undefined, typedKey: string | null): string {
  if (typedKey === null && session?.development_key != null) return 'The development key of this service';
  const kept = 'Kept in this tab until it is closed';
  const isLocked = session?.takes_development_key === true && session.acting === 'locked';
  return isLocked ? `${kept}. Unlock the console to use the development key` : kept;
}

interface SideState {
  form: RequestForm;
  setForm: (form: RequestForm) => void;
  problem: FormProblem | undefined;
  runner: Runner;
  send: (apiKey: string) => void;
}

function useSide(name: string, model: string): SideState {
  const storageName = `sluice-playground-${name}`;
  const [typed, setTyped] = useState<RequestForm>(() => readForm(sessionStorage, storageName));
  const [problem, setProblem] = useState<FormProblem>();
  const runner = useRun();
  const form = typed.model === '' ? { ...typed, model } : typed;
  return {
    form,
    setForm: (changed) => {
      setTyped(changed);
      keepForm(sessionStorage, storageName, changed);
    },
    problem: problem ?? refusedField(runner.run?.error),
    runner,
    send: (apiKey) => {
      const made = bodyOf(form);
      setProblem('problem' in made ? made.problem : undefined);
      if ('body' in made) runner.start(made.body, apiKey);
    },
  };
}

/** The field that the service named when it refused the request, if the form has it. */
function refusedField(error: unknown): FormProblem | undefined {
  if (!(error instanceof ApiError)) return undefined;
  const field = requestFields.find((name) => error.param?.split(/[.[]/)[0] === name);
  return field && { field, message: error.message };
}

interface SideProps {
  side: SideState;
  models: readonly string[];
  apiUrl: string;
  name: string | undefined;
}

function Side({ side, models, apiUrl, name }: SideProps) {
  const { form, setForm, problem, runner } = side;
  const [language, setLanguage] = useState<keyof Snippets>('curl');
  const made = bodyOf(form);
  const titled = (what: string) => (name === undefined ? what : `${name} ${what.toLowerCase()}`);
  return (
    <section className={classes['side']} aria-label={name}>
      <Panel title={titled('Request')}>
        <RequestFields form={form} models={models} problem={problem} onChange={setForm} />
      </Panel>
      <Panel title={titled('Response')}>
        <RunView run={runner.run} />
      </Panel>
      {'body' in made && (
        <Panel
          title={titled('Code')}
          actions={
            <SegmentedControl
              size="xs"
              aria-label="Language"
              data={languages}
              value={language}
              onChange={(value) => setLanguage(value)}
            />
          }
        >
          <CodeBlock text={snippetsOf(apiUrl, made.body)[language]} label="Copy the code" />
        </Panel>
      )}
    </section>
  );
}
