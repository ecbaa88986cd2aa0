// Amounts as colours: cividis, from dark blue (little) to yellow (much), on a dark page as on a light one.
import { interpolateCividis } from 'd3-scale-chromatic';
import { el } from './dom';

export function amountColour(share: number): string {
  return interpolateCividis(Math.max(0, Math.min(1, share)));
}

// 256 of them as pixels of ImageData.
export const kAmountPixels = Uint32Array.from({ length: 256 }, (_, i) => {
  const [r, g, b] = amountColour(i / 255).match(/\d+/g)!.map(Number) as [number, number, number];
  return (0xff000000 | (b << 16) | (g << 8) | r) >>> 0;
});

// A strip from `least` to `most`.
export function amountLegend(least: string, most: string): HTMLElement {
  const strip = el('span', { class: 'strip', 'aria-hidden': 'true' });
  strip.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(amountColour).join(', ')})`;
  return el('p', { class: 'note' }, `${least} `, strip, ` ${most}`);
}
