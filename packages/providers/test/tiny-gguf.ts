import { writeFileSync } from 'node:fs';

const embedding = 32;
const feedForward = 64;
const heads = 2;
const contextLength = 1024;

/** Kinds of values in a GGUF file. */
const kinds = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;
/** Kinds of tokens. */
const tokenTypes = { normal: 1, unknown: 2, control: 3, byte: 6 } as const;

const tokens: [text: string, type: number][] = [
  ['<unk>', tokenTypes.unknown],
  ['<s>', tokenTypes.control],
  ['</s>', tokenTypes.control],
  ...Array.from({ length: 256 }, (_, byte): [string, number] => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    tokenTypes.byte,
  ]),
  ['<|im_start|>', tokenTypes.control],
  ['<|im_end|>', tokenTypes.control],
  ['▁', tokenTypes.normal],
  ...Array.from({ length: 94 }, (_, index): [string, number] => [
    String.fromCharCode(33 + index),
    tokenTypes.normal,
  ]),
];

const chatTemplate =
  "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/**
 * Writes a model that llama.cpp loads: one layer with made-up weights, which are the same each time, and a token for each
 * character. It has some 180 KB. Its text makes no sense, and that is enough to see that text, grammars and
 * functions go through the real library.
 */
export function writeTinyGguf(path: string): void {
  const facts: Buffer[] = [
    fact('general.architecture', kinds.string, string('llama')),
    fact('general.name', kinds.string, string('tiny')),
    fact('llama.context_length', kinds.uint32, uint32(contextLength)),
    fact('llama.embedding_length', kinds.uint32, uint32(embedding)),
    fact('llama.block_count', kinds.uint32, uint32(1)),
    fact('llama.feed_forward_length', kinds.uint32, uint32(feedForward)),
    fact('llama.attention.head_count', kinds.uint32, uint32(heads)),
    fact('llama.attention.layer_norm_rms_epsilon', kinds.float32, float32(1e-5)),
    fact('llama.rope.dimension_count', kinds.uint32, uint32(embedding / heads)),
    fact('tokenizer.ggml.model', kinds.string, string('llama')),
    fact(
      'tokenizer.ggml.tokens',
      kinds.array,
      array(
        kinds.string,
        tokens.map(([text]) => string(text)),
      ),
    ),
    fact(
      'tokenizer.ggml.scores',
      kinds.array,
      array(
        kinds.float32,
        tokens.map(() => float32(0)),
      ),
    ),
    fact(
      'tokenizer.ggml.token_type',
      kinds.array,
      array(
        kinds.int32,
        tokens.map(([, type]) => uint32(type)),
      ),
    ),
    fact('tokenizer.ggml.bos_token_id', kinds.uint32, uint32(1)),
    fact('tokenizer.ggml.eos_token_id', kinds.uint32, uint32(260)),
    fact('tokenizer.chat_template', kinds.string, string(chatTemplate)),
  ];
  const tensors: [name: string, shape: number[]][] = [
    ['token_embd.weight', [embedding, tokens.length]],
    ['output_norm.weight', [embedding]],
    ['output.weight', [embedding, tokens.length]],
    ['blk.0.attn_norm.weight', [embedding]],
    ...['attn_q', 'attn_k', 'attn_v', 'attn_output'].map((name): [string, number[]] => [
      `blk.0.${name}.weight`,
      [embedding, embedding],
    ]),
    ['blk.0.ffn_norm.weight', [embedding]],
    ['blk.0.ffn_gate.weight', [embedding, feedForward]],
    ['blk.0.ffn_up.weight', [embedding, feedForward]],
    ['blk.0.ffn_down.weight', [feedForward, embedding]],
  ];
  const random = randomNumbers(1);
  const infos: Buffer[] = [];
  const data: Buffer[] = [];
  let offset = 0;
  for (const [name, shape] of tensors) {
    const float32Type = uint32(0);
    infos.push(string(name), uint32(shape.length), ...shape.map(uint64), float32Type, uint64(offset));
    const count = shape.reduce((product, size) => product * size, 1);
    const values = Float32Array.from({ length: count }, () => (name.includes('norm') ? 1 : random() - 0.5));
    const bytes = padded(Buffer.from(values.buffer));
    data.push(bytes);
    offset += bytes.length;
  }
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    uint32(3),
    uint64(tensors.length),
    uint64(facts.length),
    ...facts,
    ...infos,
  ]);
  writeFileSync(path, Buffer.concat([padded(head), ...data]));
}

function fact(name: string, kind: number, value: Buffer): Buffer {
  return Buffer.concat([string(name), uint32(kind), value]);
}

function array(kind: number, values: Buffer[]): Buffer {
  return Buffer.concat([uint32(kind), uint64(values.length), ...values]);
}

function string(text: string): Buffer {
  const bytes = Buffer.from(text);
  return Buffer.concat([uint64(bytes.length), bytes]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}

function float32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
}

/** To a multiple of 32 bytes, where every tensor begins. */
function padded(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((32 - (bytes.length % 32)) % 32)]);
}

/** From 0 to 1, the same ones for the same seed. */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
