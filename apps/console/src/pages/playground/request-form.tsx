import { Autocomplete, Checkbox, NativeSelect, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import classes from './playground.module.css';
import type { FormProblem, RequestField, RequestForm } from './request-body.ts';

interface RequestFormProps {
  form: RequestForm;
  models: readonly string[];
  problem: FormProblem | undefined;
  onChange: (form: RequestForm) => void;
}

const inputKinds = [
  { value: 'text', label: 'Text' },
  { value: 'items', label: 'Items' },
];
const byDefault = { value: '', label: 'Default' };
const efforts = [byDefault, 'none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const tiers = [byDefault, 'flex', 'priority'];

/** The request to one model. A refused value is marked at its field. */
export function RequestFields({ form, models, problem, onChange }: RequestFormProps) {
  const set = (change: Partial<RequestForm>) => onChange({ ...form, ...change });
  const errorOf = (field: RequestField) => (problem?.field === field ? problem.message : undefined);
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
        error={errorOf('instructions')}
        onChange={(event) => set({ instructions: event.currentTarget.value })}
      />
      <div className={classes['input']}>
        <Textarea
          label="Input"
          description={form.isInputItems ? 'A JSON array of items' : 'The text of one message'}
          autosize
          minRows={4}
          maxRows={16}
          value={form.input}
          error={errorOf('input')}
          onChange={(event) => set({ input: event.currentTarget.value })}
        />
        <SegmentedControl
          size="xs"
          aria-label="Kind of input"
          className={classes['kind'] ?? ''}
          data={inputKinds}
          value={form.isInputItems ? 'items' : 'text'}
          onChange={(kind) => set({ isInputItems: kind === 'items' })}
        />
      </div>
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
      <SettingFields form={form} set={set} errorOf={errorOf} />
    </div>
  );
}

interface SettingFieldsProps {
  form: RequestForm;
  set: (change: Partial<RequestForm>) => void;
  errorOf: (field: RequestField) => string | undefined;
}

function SettingFields({ form, set, errorOf }: SettingFieldsProps) {
  return (
    <>
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
      <div className={classes['pair']}>
        <NativeSelect
          label="Reasoning effort"
          data={efforts}
          value={form.effort}
          error={errorOf('reasoning')}
          onChange={(event) => set({ effort: event.currentTarget.value })}
        />
        <NativeSelect
          label="Service tier"
          data={tiers}
          value={form.tier}
          error={errorOf('service_tier')}
          onChange={(event) => set({ tier: event.currentTarget.value })}
        />
      </div>
      <div className={classes['line']}>
        <Checkbox
          label="Stream"
          error={errorOf('stream')}
          checked={form.isStreamed}
          onChange={(event) => set({ isStreamed: event.currentTarget.checked })}
        />
        <Checkbox
          label="Background"
          error={errorOf('background')}
          checked={form.isBackground}
          onChange={(event) => set({ isBackground: event.currentTarget.checked })}
        />
        <Checkbox
          label="Store"
          error={errorOf('store')}
          checked={form.isStored}
          onChange={(event) => set({ isStored: event.currentTarget.checked })}
        />
      </div>
    </>
  );
}
