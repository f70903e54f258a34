import type {
  Annotation,
  OutputItem,
  OutputText,
  ReasoningText,
  Refusal,
  ResponseObject,
  SummaryText,
} from './response.ts';

/** Position of an event in its response: 0 for the first, one more for each other. */
interface Numbered {
  sequence_number: number;
}
interface InItem extends Numbered {
  item_id: string;
  output_index: number;
}
interface InPart extends InItem {
  content_index: number;
}
interface InSummary extends InItem {
  summary_index: number;
}

/** A step in the life of a response, with the response as it is then. */
export type LifecycleEvent = Numbered & {
  type:
    | 'response.created'
    | 'response.queued'
    | 'response.in_progress'
    | 'response.completed'
    | 'response.incomplete'
    | 'response.failed';
  response: ResponseObject;
};

export type ItemEvent = Numbered & {
  type: 'response.output_item.added' | 'response.output_item.done';
  output_index: number;
  item: OutputItem;
};

/** An event of a response. Nothing follows `response.completed`, `response.incomplete` and `response.failed`. */
export type ResponseEvent =
  | LifecycleEvent
  | ItemEvent
  | (InPart & {
      type: 'response.content_part.added' | 'response.content_part.done';
      part: OutputText | Refusal | ReasoningText;
    })
  | (InPart & {
      type:
        | 'response.output_text.delta'
        | 'response.refusal.delta'
        | 'response.reasoning_text.delta'
        | 'response.reasoning.delta';
      delta: string;
    })
  | (InPart & {
      type: 'response.output_text.done' | 'response.reasoning_text.done' | 'response.reasoning.done';
      text: string;
    })
  | (InPart & { type: 'response.refusal.done'; refusal: string })
  | (InPart & {
      type: 'response.output_text.annotation.added';
      annotation_index: number;
      annotation: Annotation;
    })
  | (InSummary & {
      type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      part: SummaryText;
    })
  | (InSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (InSummary & { type: 'response.reasoning_summary_text.done'; text: string })
  | (InItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (InItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string })
  | (InItem & { type: 'response.custom_tool_call_input.delta'; delta: string })
  | (InItem & { type: 'response.custom_tool_call_input.done'; input: string })
  | (Numbered & { type: 'error'; code: string; message: string; param: string | null });

/** Whether an event is the last one. */
export function isLastEvent({ type }: ResponseEvent): boolean {
  return type === 'response.completed' || type === 'response.incomplete' || type === 'response.failed';
}
