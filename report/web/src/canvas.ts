// A canvas as wide as its box, sharp on any screen, drawn again where its size or the colours of the page change.
import { el } from './dom';

export interface Canvas {
  root: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width(): number; // in CSS pixels
  height(): number;
  redraw(): void; // once before the next frame
}

export function canvas(tall: number, label: string, draw: (c: Canvas) => void): Canvas {
  const root = el('canvas', { tabindex: 0, role: 'img', 'aria-label': label });
  root.style.height = `${tall}px`;
  let asked = false;
  let width = 0, height = 0; // asking the element lays out the page
  const c: Canvas = {
    root,
    context: root.getContext('2d')!,
    width: () => width,
    height: () => height,
    redraw() {
      if (asked) return;
      asked = true;
      requestAnimationFrame(() => {
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
      });
    },
  };
  new ResizeObserver(() => c.redraw()).observe(root);
  addEventListener('themechange', () => c.redraw());
  return c;
}

// A colour of the style sheet.
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
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
