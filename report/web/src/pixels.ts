// A grid of amounts as pixels, stretched over a canvas, with what is under the pointer, or the cursor that arrow keys move, told below it.
import { kAmountPixels } from './amounts';
import { canvas, colour, columnWidth, kFont, shortened, type Canvas } from './canvas';
import { el } from './dom';

export interface Grid {
  columns: number;
  rows: number;
  value(column: number, row: number): number; // 0..255
  rowName(row: number): string;
  tell(column: number, row: number): string;
  choose(column: number, row: number): void;
  chosenRow(): number | null;
  axis(g: CanvasRenderingContext2D, left: number, width: number): void; // above, 18 pixels high
}

const kTop = 20;

// `names`: the least and the most width of the names of rows, which take what they need.
export function pixelGrid(grid: Grid, label: string, names: [number, number], rowHeight: number, most: number): { nodes: HTMLElement[]; redraw: () => void } {
  const image = new ImageData(grid.columns, grid.rows);
  const pixels = new Uint32Array(image.data.buffer);
  for (let r = 0; r < grid.rows; ++r)
    for (let c = 0; c < grid.columns; ++c) pixels[r * grid.columns + c] = kAmountPixels[grid.value(c, r)]!;
  const buffer = new OffscreenCanvas(grid.columns, grid.rows);
  buffer.getContext('2d')!.putImageData(image, 0, 0);
  const about = el('p', { class: 'note about', 'aria-live': 'polite' }, ' ');

  let cursor: [number, number] | null = null;
  const move = (to: [number, number] | null) => {
    cursor = to;
    about.textContent = to ? grid.tell(...to) : ' ';
    c.redraw();
  };
  const steps: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  const within = (v: number, count: number) => Math.max(0, Math.min(count - 1, v));
  const key = (name: string): boolean => {
    const step = steps[name];
    if (step) move(cursor ? [within(cursor[0] + step[0], grid.columns), within(cursor[1] + step[1], grid.rows)] : [0, 0]);
    else if (name === 'Enter' && cursor) grid.choose(...cursor);
    return step !== undefined || name === 'Enter';
  };
  const c: Canvas = canvas(kTop + Math.min(most, grid.rows * rowHeight), `${label}; arrow keys move a cursor, Enter chooses`, () => {
    const g = c.context, width = c.width() - left, height = c.height() - kTop, each = height / grid.rows;
    g.imageSmoothingEnabled = false;
    g.drawImage(buffer, left, kTop, width, height);
    g.font = kFont;
    g.textBaseline = 'middle';
    g.textAlign = 'right';
    g.fillStyle = colour('--quiet');
    const every = Math.max(1, Math.ceil(12 / each));
    for (let r = 0; r < grid.rows; r += every) {
      g.fillText(shortened(g, grid.rowName(r), left - 8), left - 6, kTop + (r + 0.5) * each);
    }
    g.textBaseline = 'alphabetic';
    g.textAlign = 'center';
    grid.axis(g, left, width);
    const chosen = grid.chosenRow();
    g.lineWidth = 2;
    g.strokeStyle = colour('--mark');
    if (chosen !== null) g.strokeRect(left, kTop + chosen * each, width - 1, each);
    if (!cursor) return;
    const wide = width / grid.columns;
    g.strokeRect(left + cursor[0] * wide - 1, kTop + cursor[1] * each - 1, wide + 2, each + 2);
  }, key);
  const left = columnWidth(c.context, Array.from({ length: grid.rows }, (_, r) => grid.rowName(r)), ...names);
  c.root.addEventListener('blur', () => move(null));
  const at = (e: MouseEvent): [number, number] | null => {
    const column = Math.floor(((e.offsetX - left) / (c.width() - left)) * grid.columns);
    const row = Math.floor(((e.offsetY - kTop) / (c.height() - kTop)) * grid.rows);
    return row >= 0 && row < grid.rows && column < grid.columns ? [Math.max(0, column), row] : null;
  };
  c.root.addEventListener('pointermove', (e) => {
    const p = at(e);
    about.textContent = p ? grid.tell(...p) : ' ';
  });
  c.root.addEventListener('click', (e) => {
    const p = at(e);
    if (p) grid.choose(...p);
  });
  c.redraw();
  return { nodes: [c.root, about], redraw: c.redraw };
}
