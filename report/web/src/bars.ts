// Shares of one whole as a bar, each with its colour, name and number; the legend is the table beside it.
import { el } from './dom';
import { percent } from './format';

export interface Share {
  name: string;
  colour: string;
  value: number;
}

export function shares(list: Share[], whole: number, label: string): HTMLElement {
  return el('div', { class: 'bar', role: 'img', 'aria-label': label },
    ...list.filter((s) => s.value > 0).map((s) => {
      const part = el('span', { title: `${s.name}: ${percent(s.value / whole)}` });
      part.style.width = `${(100 * s.value) / whole}%`;
      part.style.background = s.colour;
      return part;
    }));
}

export function dot(colour: string): HTMLElement {
  const d = el('span', { class: 'dot', 'aria-hidden': 'true' });
  d.style.background = colour;
  return d;
}
