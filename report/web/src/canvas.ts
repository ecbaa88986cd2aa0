// A canvas as wide as its box, sharp on any screen, drawn again where its size or the colours of the page change.
import { el } from './dom';

export interface Canvas {
  root: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width(): number; // in CSS pixels
  height(): number;
  redraw(): void; // once before the next frame
}

// `key`: what a key does, false where it does nothing. A canvas without keys is no stop of the Tab key.
export function canvas(tall: number, label: string, draw: (c: Canvas) => void, key?: (name: string) => boolean): Canvas {
  const root = el('canvas', { role: 'img', 'aria-label': label });
  if (key) {
    root.tabIndex = 0;
    root.addEventListener('keydown', (e) => {
      if (!e.ctrlKey && !e.altKey && !e.metaKey && key(e.key)) e.preventDefault();
    });
  }
  root.style.height = `${tall}px`;
  let asked = false;
  const paint = () => {
    asked = false;
    const ratio = devicePixelRatio || 1;
    width = root.clientWidth;
    height = root.clientHeight;
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (w === 0 || h === 0) return;
    if (root.width !== w || root.height !== h) {
      root.width = w;
      root.height = h;
    }
    c.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.context.clearRect(0, 0, width, height);
    draw(c);
  };
  let width = 0, height = 0; // asking the element lays out the page
  const c: Canvas = {
    root,
    context: root.getContext('2d')!,
    width: () => width,
    height: () => height,
    redraw() {
      if (asked) return;
      asked = true;
      requestAnimationFrame(paint);
    },
  };
  new ResizeObserver(() => c.redraw()).observe(root);
  addEventListener('themechange', paint); // at once: nothing is drawn between 'beforeprint' and the printing
  return c;
}

// Where an arrow key leads from `at` of `count` in a ring; -1 is nowhere. Null: another key, or nothing to go to.
export function stepped(key: string, at: number, count: number): number | null {
  const by = key === 'ArrowRight' || key === 'ArrowDown' ? 1 : key === 'ArrowLeft' || key === 'ArrowUp' ? -1 : 0;
  if (by === 0 || count === 0) return null;
  return at < 0 ? (by > 0 ? 0 : count - 1) : (at + by + count) % count;
}

// A colour of the style sheet.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const kFont = '11px system-ui, sans-serif';

// How wide a column of these names is, with what is around them: from `least` to `most`.
export function columnWidth(g: CanvasRenderingContext2D, names: string[], least: number, most: number): number {
  g.font = kFont;
  return Math.min(most, names.reduce((width, name) => Math.max(width, Math.ceil(g.measureText(name).width) + 14), least));
}

// A name, its end cut off where it is wider than `width`.
export function shortened(g: CanvasRenderingContext2D, name: string, width: number): string {
  while (name.length > 4 && g.measureText(name).width > width) name = `${name.slice(0, -2)}…`;
  return name;
}

// "#rrggbb" as a pixel of ImageData.
export function pixel(hex: string): number {
  const v = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((v & 0xff) << 16) | (v & 0xff00) | (v >> 16)) >>> 0;
}
