import { Autocomplete, Checkbox, Textarea, TextInput } from '@mantine/core';
import classes from './playground.module.css';
import type { FormProblem, RequestForm } from './request-body.ts';

interface RequestFormProps {
  form: RequestForm;
  models: readonly string[];
  problem: FormProblem | undefined;
  onChange: (form: RequestForm) => void;
}

/** What is asked of one model. A value that was refused says so where it stands. */
export function RequestFields({ form, models, problem, onChange }: RequestFormProps) {
  const set = (change: Partial<RequestForm>) => onChange({ ...form, ...change });
  const errorOf = (field: string) => (problem?.field === field ? problem.message : undefined);
  return (
    <div className={classes['form']}>
      <Autocomplete
        label="Model"
        data={[...models]}
        value={form.model}
        error={errorOf('model')}
        onChange={(model) => set({ model })}
      />
      <Textarea
        label="Instructions"
        autosize
        minRows={1}
        maxRows={8}
        value={form.instructions}
        onChange={(event) => set({ instructions: event.currentTarget.value })}
      />
      <Textarea
        label="Input"
        description="A text, or items as a JSON array"
        autosize
        minRows={4}
        maxRows={16}
        value={form.input}
        error={errorOf('input')}
        onChange={(event) => set({ input: event.currentTarget.value })}
      />
      <Textarea
        label="Tools"
        description="A JSON array; empty for none"
        autosize
        minRows={1}
        maxRows={12}
        value={form.tools}
        error={errorOf('tools')}
        onChange={(event) => set({ tools: event.currentTarget.value })}
      />
      <div className={classes['pair']}>
        <TextInput
          label="Temperature"
          placeholder="1"
          inputMode="decimal"
          value={form.temperature}
          error={errorOf('temperature')}
          onChange={(event) => set({ temperature: event.currentTarget.value })}
        />
        <TextInput
          label="Most output tokens"
          placeholder="No limit"
          inputMode="numeric"
          value={form.maxOutputTokens}
          error={errorOf('max_output_tokens')}
          onChange={(event) => set({ maxOutputTokens: event.currentTarget.value })}
        />
      </div>
      <div className={classes['line']}>
        <Checkbox
          label="Stream"
          checked={form.isStreamed}
          onChange={(event) => set({ isStreamed: event.currentTarget.checked })}
        />
        <Checkbox
          label="Background"
          checked={form.isBackground}
          onChange={(event) => set({ isBackground: event.currentTarget.checked })}
        />
      </div>
    </div>
  );
}
