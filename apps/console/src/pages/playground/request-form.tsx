import { Autocomplete, Checkbox, NativeSelect, SegmentedControl, Textarea, TextInput } from '@mantine/core';
import type { TextOf } from '../../components/dialog-form.tsx';
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

/** The properties of the fields of a form. Each has a name in the form, and one in the request, which errors have. */
function fieldsOf({ form, problem, onChange }: Omit<RequestFormProps, 'models'>) {
  const errorOf = (member: RequestField) => (problem?.field === member ? problem.message : undefined);
  return {
    errorOf,
    text: (name: TextOf<RequestForm>, member: RequestField) => ({
      value: form[name],
      error: errorOf(member),
      onChange: ({ currentTarget: { value } }: { currentTarget: { value: string } }) =>
        onChange({ ...form, [name]: value }),
    }),
    box: (name: 'isStreamed' | 'isBackground' | 'isStored', member: RequestField) => ({
      checked: form[name],
      error: errorOf(member),
      onChange: ({ currentTarget: { checked } }: { currentTarget: { checked: boolean } }) =>
        onChange({ ...form, [name]: checked }),
    }),
  };
}

type Fields = ReturnType<typeof fieldsOf>;

/** The request to one model. A refused value is marked at its field. */
export function RequestFields({ models, ...shown }: RequestFormProps) {
  const { form, onChange } = shown;
  const { errorOf, text, box } = fieldsOf(shown);
  return (
    <div className={classes['form']}>
      <Autocomplete
        label="Model"
        data={[...models]}
        value={form.model}
        error={errorOf('model')}
        onChange={(model) => onChange({ ...form, model })}
      />
      <Textarea
        label="Instructions"
        autosize
        minRows={1}
        maxRows={8}
        {...text('instructions', 'instructions')}
      />
      <div className={classes['input']}>
        <Textarea
          label="Input"
          description={form.isInputItems ? 'A JSON array of items' : 'The text of one message'}
          autosize
          minRows={4}
          maxRows={16}
          {...text('input', 'input')}
        />
        <SegmentedControl
          size="xs"
          aria-label="Kind of input"
          className={classes['kind'] ?? ''}
          data={inputKinds}
          value={form.isInputItems ? 'items' : 'text'}
          onChange={(kind) => onChange({ ...form, isInputItems: kind === 'items' })}
        />
      </div>
      <Textarea
        label="Tools"
        description="A JSON array; empty for none"
        autosize
        minRows={1}
        maxRows={12}
        {...text('tools', 'tools')}
      />
      <SettingFields text={text} box={box} />
    </div>
  );
}

function SettingFields({ text, box }: Pick<Fields, 'text' | 'box'>) {
  return (
    <>
      <div className={classes['pair']}>
        <TextInput
          label="Temperature"
          placeholder="1"
          inputMode="decimal"
          {...text('temperature', 'temperature')}
        />
        <TextInput
          label="Most output tokens"
          placeholder="No limit"
          inputMode="numeric"
          {...text('maxOutputTokens', 'max_output_tokens')}
        />
      </div>
      <div className={classes['pair']}>
        <NativeSelect label="Reasoning effort" data={efforts} {...text('effort', 'reasoning')} />
        <NativeSelect label="Service tier" data={tiers} {...text('tier', 'service_tier')} />
      </div>
      <div className={classes['line']}>
        <Checkbox label="Stream" {...box('isStreamed', 'stream')} />
        <Checkbox label="Background" {...box('isBackground', 'background')} />
        <Checkbox label="Store" {...box('isStored', 'store')} />
      </div>
    </>
  );
}
