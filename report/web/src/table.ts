// A table that can be sorted by any column (click or Enter on its head), copied as CSV at full precision, and whose rows
// can be chosen.
import { copyText, el } from './dom';

export interface Column<T> {
  title: string;
  value: (row: T) => number | string | null; // for the CSV
  order?: (row: T) => number | string | null; // to sort by; otherwise the value. Null comes last
  text?: (row: T) => string; // as shown; otherwise the value
  csv?: string; // name of the column in the CSV; otherwise the title
  unseen?: boolean; // only in the CSV
}
export interface Options<T> {
  choose?: (row: T) => void;
  chosen?: (row: T) => boolean;
  most?: number; // rows shown before "show all"
  caption: string;
}
export interface Table {
  root: HTMLElement;
  update(): void; // after the chosen row changed
}

function field(v: number | string | null): string {
  const text = v === null ? '' : String(v);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf<T>(columns: Column<T>[], rows: T[]): string {
  const lines = [columns.map((c) => field(c.csv ?? c.title)), ...rows.map((r) => columns.map((c) => field(c.value(r))))];
  return lines.map((l) => l.join(',') + '\n').join('');
}

export function table<T>(all: Column<T>[], rows: T[], options: Options<T>): Table {
  const columns = all.filter((c) => !c.unseen);
  let order = rows.slice();
  let sorted = -1;
  let down = false;
  let most = options.most ?? 50;
  const numeric = columns.map((c) => rows.some((r) => typeof c.value(r) === 'number'));
  const body = el('tbody');
  const heads = columns.map((c, i) =>
    el('th', { scope: 'col', class: numeric[i] ? 'number' : '' }, el('button', { type: 'button', click: () => sort(i) }, c.title)));
  const more = el('button', { type: 'button', click: () => {
    const next = most;
    most = rows.length;
    draw();
    const row = body.children[next] as HTMLElement; // the button goes, and the focus would with it
    (row.tabIndex < 0 ? copy : row).focus({ preventScroll: true });
  } });
  const printed = el('p', { class: 'note printed' });
  const copy = el('button', { type: 'button', click: () => void copyText(csvOf(all, order), copy) }, 'copy as CSV');

  function sort(i: number): void {
    down = sorted === i ? !down : numeric[i]!;
    sorted = i;
    const value = columns[i]!.order ?? columns[i]!.value;
    const sign = down ? -1 : 1;
    order = rows.slice().sort((a, b) => {
      const x = value(a), y = value(b);
      if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1; // what is not known comes last
      return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : String(x).localeCompare(String(y), 'en', { numeric: true }));
    });
    heads.forEach((h, k) => {
      if (k === i) h.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      else h.removeAttribute('aria-sort');
    });
    draw();
  }

  function draw(): void {
    const { choose, chosen } = options;
    const focused = Array.from(body.children).indexOf(document.activeElement!); // its row is made anew
    body.replaceChildren();
    for (const row of order.slice(0, most)) { // a call has room for some 100,000 arguments
      const line = el('tr', {}, ...columns.map((c, i) => {
        const v = c.value(row);
        return el('td', { class: numeric[i] ? 'number' : '' }, c.text ? c.text(row) : v === null ? '-' : String(v));
      }));
      if (choose) {
        line.tabIndex = 0;
        line.className = 'choice';
        line.addEventListener('click', () => choose(row));
        line.addEventListener('keydown', (e) => {
          if (e.key !== 'Enter' && e.key !== ' ') return;
          e.preventDefault();
          choose(row);
        });
      }
      if (chosen?.(row)) line.setAttribute('aria-selected', 'true');
      body.append(line);
    }
    (body.children[focused] as HTMLElement | undefined)?.focus({ preventScroll: true });
    more.textContent = `show all ${rows.length} rows`;
    more.hidden = printed.hidden = rows.length <= most;
    printed.textContent = `The first ${most} of ${rows.length} rows.`;
  }
  draw();
  return {
    root: el('div', { class: 'table' },
      el('div', { class: 'scroll' },
        el('table', {}, el('caption', {}, options.caption), el('thead', {}, el('tr', {}, ...heads)), body)),
      printed,
      el('div', { class: 'tools' }, more, copy)),
    update: draw,
  };
}
