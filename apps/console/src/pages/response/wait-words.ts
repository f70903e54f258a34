import type { Phase, WaitReason } from '@sluice/contract/admin';

/** Why a response waited, as a sentence that goes on from "It waited because". */
const reasons: Record<WaitReason, string> = {
  tenant_full: 'as many responses of its tenant ran as may run at a time.',
  behind_others: 'every slot of its model was taken, and others were in front of it.',
  model_full: 'every slot of its model was taken, and nobody was in front of it.',
  queue_paused: 'its queue was paused.',
  upstream_parked: 'its upstream had asked the service to wait.',
  upstream_open: 'its upstream was down.',
  upstream_busy: 'its upstream had as many calls as it takes.',
  upstream_saturated: "its upstream's own queue was too long.",
  worker_memory: 'its worker had no room for its input.',
  model_unknown: 'its worker did not know its model.',
  retry_delay: 'an attempt had failed, and the next one was delayed.',
  worker_lost: 'its worker stopped or died, and another one had to take it.',
};

const kinds: Record<Phase['kind'], string> = {
  waiting: 'Waiting',
  starting: 'Waiting for the first output',
  generating: 'Generating',
};

/** The name of a piece of the bar. */
export function phaseTitle({ kind }: Pick<Phase, 'kind'>): string {
  return kinds[kind];
}

/** The reason of a wait; undefined if it needs none. */
export function phaseReason({ because }: Pick<Phase, 'because'>): string | undefined {
  return because === null ? undefined : `It waited because ${reasons[because]}`;
}
