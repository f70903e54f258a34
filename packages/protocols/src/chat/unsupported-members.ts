import { z } from 'zod';
import { unsupported } from '../members.ts';

/** A member of single servers that changes the answer. Values that leave it as it is are taken: these, and what is empty where it may be. */
function unless(...neutral: readonly unknown[]) {
  return z
    .unknown()
    .refine((value) => value === null || neutral.some((each) => isSame(each, value)), {
      params: { code: 'unsupported_parameter' },
    })
    .optional();
}

function isSame(neutral: unknown, value: unknown): boolean {
  if (typeof neutral !== 'object' || neutral === null) return neutral === value;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Stands for lists and objects with nothing in them. */
const nothing: readonly unknown[] = [];

/** How tokens are chosen: vLLM, SGLang, llama.cpp, Ollama and OpenRouter. */
const sampling = {
  top_k: unless(-1, 0),
  top_a: unless(0),
  min_p: unless(0),
  typical_p: unless(1),
  tfs_z: unless(1),
  repetition_penalty: unless(1),
  repeat_penalty: unless(1),
  length_penalty: unless(1),
  mirostat: unless(0),
  dry_multiplier: unless(0),
  xtc_probability: unless(0),
  best_of: unless(1),
  use_beam_search: unless(false),
  bad_words: unless(nothing),
  allowed_token_ids: unsupported,
  logits_processors: unless(nothing),
};

/** Where an answer ends. */
const ends = {
  min_tokens: unless(0),
  ignore_eos: unless(false),
  stop_token_ids: unless(nothing),
  include_stop_str_in_output: unless(false),
};

/** The form that an answer is held to, in place of `response_format`. */
const forms = {
  guided_json: unsupported,
  guided_regex: unsupported,
  guided_choice: unless(nothing),
  guided_grammar: unsupported,
  structured_outputs: unless(nothing),
  json_schema: unsupported,
  grammar: unless(''),
  regex: unsupported,
  ebnf: unsupported,
};

/** The prompt that is made of the messages, and thinking. */
const prompts = {
  chat_template: unsupported,
  chat_template_kwargs: unless(nothing),
  documents: unless(nothing),
  echo: unless(false),
  add_generation_prompt: unless(true),
  continue_final_message: unless(false),
  thinking: unsupported,
  enable_thinking: unsupported,
  thinking_budget: unsupported,
};

/** Who answers, and with what: OpenRouter. */
const routing = {
  models: unless(nothing),
  provider: unless(nothing),
  transforms: unless(nothing),
  plugins: unless(nothing),
  preset: unsupported,
  include_reasoning: unless(true),
};

/** Members that upstreams of chat completions know and no response has, by which an answer would be another one. */
export const serverMembers = { ...sampling, ...ends, ...forms, ...prompts, ...routing };

/** Members of `reasoning`, OpenRouter's, that no response has. */
export const reasoningMembers = { max_tokens: unsupported, exclude: unless(false) };
