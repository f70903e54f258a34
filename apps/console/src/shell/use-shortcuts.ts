import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';
import { isTyping } from '../components/search-box.tsx';
import { places } from './places.ts';

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
      else if (timeStamp - beganAt < sequenceMs) {
        const place = places.find((each) => each.key === key);
        if (place === undefined) return;
        beganAt = Number.NEGATIVE_INFINITY;
        void navigate({ to: place.to });
      }
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [navigate]);
}
