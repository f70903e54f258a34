/** What a request says, whichever protocol it came in. */
export interface Question {
  /** The last text of the user, or of the caller's last message. */
  prompt: string;
  /** What tools have answered since, in order. */
  toolOutputs: string[];
  /** Every message of a user or an assistant, in order: `user: Hello.` */
  history: string[];
  /** The names of the functions that may be called. */
  tools: string[];
}

/** How the model answers one request. */
export type Answer =
  | { kind: 'text'; pieces: string[]; reasoning?: string }
  | { kind: 'calls'; calls: FunctionCall[] }
  /** Refused before the answer begins. */
  | { kind: 'refused'; status: number; code: string; headers?: Record<string, string> }
  /** Breaks off after its first words. */
  | { kind: 'broken'; firstWords: string; code: string }
  /** Says its first words and nothing more until the caller leaves. */
  | { kind: 'stalled'; firstWords: string }
  /** Says its first words, and the rest once the test lets it go on. */
  | { kind: 'held'; firstWords: string; rest: string };

export interface FunctionCall {
  name: string;
  arguments: object;
}

interface Conversation {
  /** Matches the prompts that begin it. */
  when: RegExp;
  answer: (question: Question) => Answer;
}

const text = (whole: string): Answer => ({ kind: 'text', pieces: whole.match(/\S+\s*/g) ?? [] });
const call = (name: string, args: object): Answer => ({ kind: 'calls', calls: [{ name, arguments: args }] });
const heard = ({ toolOutputs }: Question) => text(`The tools say: ${toolOutputs.join(' and ')}.`);

/** The first whose pattern the prompt matches is played. */
const conversations: readonly Conversation[] = [
  {
    when: /^Compare the weather/,
    answer(question) {
      const place = ['Bergen', 'Oslo'][question.toolOutputs.length];
      return place === undefined ? heard(question) : call('get_weather', { place });
    },
  },
  {
    when: /^Ask for the weather in both/,
    answer(question) {
      if (question.toolOutputs.length > 0) return heard(question);
      const calls = ['Bergen', 'Oslo'].map((place) => ({ name: 'get_weather', arguments: { place } }));
      return { kind: 'calls', calls };
    },
  },
  {
    when: /\bweather\b/,
    answer: (question) =>
      question.toolOutputs.length > 0 ? heard(question) : call('get_weather', { place: 'Bergen' }),
  },
  { when: /^Describe a person/, answer: () => text('{"name": "Ada", "age": 36}') },
  {
    when: /^Think/,
    answer: () => ({ kind: 'text', pieces: ['Forty', '-two.'], reasoning: 'The question is known.' }),
  },
  { when: /^Repeat what was said/, answer: ({ history }) => text(history.join(' | ')) },
  {
    when: /^Run it in the shell/,
    answer(question) {
      if (question.toolOutputs.length > 0) return heard(question);
      const command = 'echo from-the-$((40 + 2))';
      return question.tools.includes('Bash')
        ? call('Bash', { command, description: 'Says where it is from' })
        : call('exec_command', { cmd: command });
    },
  },
  {
    when: /^Hand this over/,
    answer({ tools }) {
      const transfer = tools.find((name) => name.startsWith('transfer_to_'));
      return transfer === undefined ? text('The poet says: roses are red.') : call(transfer, {});
    },
  },
  { when: /^Refuse/, answer: () => ({ kind: 'refused', status: 400, code: 'invalid_prompt' }) },
  { when: /^Break/, answer: () => ({ kind: 'broken', firstWords: 'It was a dark ', code: 'server_error' }) },
  { when: /^Stall/, answer: () => ({ kind: 'stalled', firstWords: 'Well, ' }) },
  { when: /^Hold on/, answer: () => ({ kind: 'held', firstWords: 'Well, ', rest: 'that is all.' }) },
];

/** What the scripted model answers. Any other prompt gets one sentence. */
export function answerTo(question: Question): Answer {
  const conversation = conversations.find(({ when }) => when.test(question.prompt));
  return conversation?.answer(question) ?? text('Bergen lies between seven mountains.');
}
