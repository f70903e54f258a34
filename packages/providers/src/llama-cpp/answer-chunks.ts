import { isObject, parseObject, textOf } from '../json-fields.ts';
import type { FinishReason, ProviderChunk } from '../provider.ts';
import type { GeneratedResponse, GenerateOptions } from './library.ts';

type TextChunk = Parameters<GenerateOptions['onResponseChunk']>[0];
type CallChunk = Parameters<NonNullable<GenerateOptions['onFunctionCallParamsChunk']>>[0];
type Tell = (chunk: ProviderChunk) => void;

/** Turns the library's callbacks for one answer into chunks. */
export interface AnswerChunks {
  /** How many tokens of the answer so far are thoughts. */
  readonly reasoningTokens: number;
  text(chunk: TextChunk): void;
  call(chunk: CallChunk): void;
  /** Adds what is known only at the end. Returns why the answer ended. */
  end(response: GeneratedResponse): FinishReason;
}

/** Text as it is generated, and calls with their arguments as they are generated. */
export function callChunks(tell: Tell): AnswerChunks {
  const opened = new Set<number>();
  const open = (index: number, name: string) => {
    if (opened.has(index)) return;
    opened.add(index);
    tell({ type: 'function_call', callKey: String(index), name });
  };
  let reasoningTokens = 0;
  return {
    get reasoningTokens() {
      return reasoningTokens;
    },
    text({ type, text, tokens }) {
      if (type === 'segment') reasoningTokens += tokens.length;
      if (text !== '') tell({ type: type === 'segment' ? 'reasoning_text' : 'text', delta: text });
    },
    call({ callIndex, functionName, paramsChunk }) {
      open(callIndex, functionName);
      if (paramsChunk !== '') {
        tell({ type: 'function_arguments', callKey: String(callIndex), delta: paramsChunk });
      }
    },
    end({ functionCalls = [], metadata }) {
      // A call without parameters has no pieces.
      for (const [index, { functionName, params }] of functionCalls.entries()) {
        if (opened.has(index)) continue;
        open(index, functionName);
        const delta = JSON.stringify(isObject(params) ? params : {});
        tell({ type: 'function_arguments', callKey: String(index), delta });
      }
      return finishOf(metadata.stopReason);
    },
  };
}

/** An answer that is a choice between functions, or between them and an answer. It is taken apart when it is whole. */
export function choiceChunks(tell: Tell): AnswerChunks {
  let written = '';
  return {
    reasoningTokens: 0,
    text({ type, text }) {
      if (type !== 'segment') written += text;
    },
    call() {
      // There is a grammar in place of functions.
    },
    end({ metadata }) {
      const choice = parseObject(written);
      const name = textOf(choice?.['function']);
      if (name !== undefined) {
        tell({ type: 'function_call', callKey: '0', name });
        tell({
          type: 'function_arguments',
          callKey: '0',
          delta: JSON.stringify(choice?.['arguments'] ?? {}),
        });
        return 'function_call';
      }
      if (choice && 'answer' in choice) {
        tell({ type: 'text', delta: answerText(choice['answer']) });
        return 'stop';
      }
      // It was cut, and half a choice cannot be used.
      return finishOf(metadata.stopReason) === 'stop' ? 'stop' : 'max_output_tokens';
    },
  };
}

function answerText(answer: unknown): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer);
}

function finishOf(reason: GeneratedResponse['metadata']['stopReason']): FinishReason {
  switch (reason) {
    case 'functionCalls':
      return 'function_call';
    case 'maxTokens':
    case 'abort':
      return 'max_output_tokens';
    case 'eogToken':
    case 'stopGenerationTrigger':
    case 'customStopTrigger':
      return 'stop';
  }
}
