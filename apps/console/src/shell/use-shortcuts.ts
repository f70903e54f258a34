import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import { isTyping } from '../components/search-box.tsx';

const places = {
  o: '/',
  r: '/responses',
  q: '/queues',
  m: '/models',
  t: '/tenants',
  u: '/usage',
  k: '/keys',
  w: '/webhooks',
  c: '/cells',
  p: '/playground',
  a: '/audit',
} as const;

/** How soon the second key has to follow, in milliseconds. */
const sequenceMs = 1_000;

/** `g` and a letter lead to a page, as in `g o` for the overview. `?` asks which there are. */
export function useShortcuts(onAsked: () => void): void {
  const ask = useEffectEvent(onAsked);
  const navigate = useNavigate();
  useEffect(() => {
    let beganAt = Number.NEGATIVE_INFINITY;
    const press = ({ key, timeStamp, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      if (ctrlKey || metaKey || altKey || isTyping(target)) return;
      if (key === '?') ask();
      else if (key === 'g') beganAt = timeStamp;
      else if (timeStamp - beganAt < sequenceMs && key in places) {
        beganAt = Number.NEGATIVE_INFINITY;
        void navigate({ to: places[key as keyof typeof places] }); // `in` has just said so.
      }
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate]);
}
