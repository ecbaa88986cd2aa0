// What every rank did when: a row a rank, with those of its accelerator below it, messages as arrows, the critical path over it.
//
// Rows are drawn as pixels, not as shapes: a frame costs a look at every span in view and one pixel a column and rank, so
// that a million spans stay fluent. No frame allocates what grows with the spans.
import { ticks } from 'd3-array';
import { dot } from '../bars';
import { canvas, colour, kFont, pixel, type Canvas } from '../canvas';
import { jobColour, kKinds } from '../colours';
import { unpackAll, type Column } from '../columns';
import type { Run, TimelineData } from '../data';
import { el } from '../dom';
import { bytes as showBytes, count, counted, seconds } from '../format';
import { jobOf } from './jobs';
import type { Choice, Section } from '../section';

const kLeft = 52; // of the names of ranks
const kTop = 22; // of the axis
const kMostArrows = 1500; // drawn at once: the longest
const kLaneLabels = ['accel.', 'copies', 'link']; // of lane_names, where rows are named

export const timeline: Section = {
  id: 'timeline',
  title: 'Timeline',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const data = run.timeline;
    if (!data) return false;
    void Promise.all([unpackAll(data.spans), unpackAll(data.lanes), unpackAll(data.messages), unpackAll(data.path)]).then(
      ([spans, lanes, messages, path]) => new View(box, run, data, new Rows(data.ranks, lanes), spans, messages, path, choice));
    return true;
  },
};

// Rows in the order of the data, all ranks and then lanes of accelerators, and in that of the picture: its lanes below each rank.
class Rows {
  readonly count: number;
  readonly rank: Uint32Array; // by row
  readonly order: Uint32Array; // rows from above
  readonly place: Uint32Array; // of a row, from above
  constructor(private readonly ranks: number, private readonly lanes: Record<string, Column>) {
    const of = lanes['rank']!;
    this.count = ranks + of.length;
    this.rank = Uint32Array.from({ length: this.count }, (_, row) => (row < ranks ? row : of[row - ranks]!));
    this.order = new Uint32Array(this.count).map((_, row) => row).sort((a, b) => this.rank[a]! - this.rank[b]! || a - b);
    this.place = new Uint32Array(this.count);
    this.order.forEach((row, place) => (this.place[row] = place));
  }
  // Its lane; none of the rank itself.
  lane(row: number): number | null {
    return row < this.ranks ? null : this.lanes['lane']![row - this.ranks]!;
  }
  // Where the rows of the rank begin, and those of the one before it end.
  edge(rank: number): number {
    return rank < this.ranks ? this.place[rank]! : this.count;
  }
}

class View {
  private from = 0; // of what is seen, in ticks
  private to: number;
  private readonly whole: number;
  private readonly begin: Uint32Array; // of spans, in ticks
  private readonly end: Uint32Array;
  private readonly first: Uint32Array; // span of a row
  private readonly kind: Uint8Array;
  private readonly colours: Uint32Array; // by kind, as pixels
  private readonly arrow: Record<'src' | 'dst' | 'sent' | 'arrived', Uint32Array>; // messages, the longest first
  private readonly c: Canvas;
  private readonly job: (number | null)[]; // by rank
  private readonly about = el('p', { class: 'note', id: 'timeline-about', 'aria-live': 'polite' });
  private readonly seen = el('p', { class: 'note', id: 'timeline-seen' });
  // Of a frame, kept for the next one: the plot's size in CSS pixels, rows with a pixel a rank, what is in view.
  private width = 1;
  private height = 1;
  private columns = 1;
  private buffer = new OffscreenCanvas(1, 1);
  private image = new ImageData(1, 1);
  private pixels = new Uint32Array(1);
  private edges = new Float64Array(2); // of columns, in ticks
  private readonly inView = new Uint32Array(kMostArrows);
  private pathTop = new Float32Array(0);
  private pathBottom = new Float32Array(0);
  private readonly theme = new Map<string, string>();
  private showMessages = true;
  private showPath = true;
  private over: number | null = null; // span under the pointer
  lastFrame_ms = 0;

  constructor(
    box: HTMLElement, private readonly run: Run, private readonly data: TimelineData, private readonly lines: Rows,
    private readonly spans: Record<string, Column>, private readonly messages: Record<string, Column>, private readonly path: Record<string, Column>, private readonly choice: Choice) {
    const n = spans['gap']!.length;
    this.begin = new Uint32Array(n);
    this.end = new Uint32Array(n);
    for (let r = 0; r < lines.count; ++r) {
      let at = 0;
      for (let i = spans['first']![r]!; i < spans['first']![r + 1]!; ++i) {
        at += spans['gap']![i]!;
        this.begin[i] = at;
        at += spans['length']![i]!;
        this.end[i] = at;
      }
    }
    this.whole = this.to = Math.max(1, Math.round(run.result.makespan_s / data.tick_s));
    this.job = Array.from({ length: data.ranks }, (_, r) => jobOf(run, r));
    this.first = spans['first'] as Uint32Array;
    this.kind = spans['kind'] as Uint8Array;
    const { src, dst, sent, arrived } = messages as Record<'src' | 'dst' | 'sent' | 'arrived', Column>;
    const longest = new Uint32Array(sent.length).map((_, i) => i).sort((a, b) => arrived[b]! - sent[b]! - (arrived[a]! - sent[a]!) || a - b);
    const ordered = (column: Column) => longest.map((i) => column[i]!);
    this.arrow = { src: ordered(src), dst: ordered(dst), sent: ordered(sent), arrived: ordered(arrived) };
    this.colours = new Uint32Array(data.kinds.map((_, k) => pixel(kKinds[data.groups[k]!])));
    this.c = canvas(kTop + Math.min(640, Math.max(96, lines.count * 16)), 'timeline of ranks; arrow keys move, + and - zoom, 0 shows all', () => this.frame(), (name) => this.key(name));
    this.build(box);
    this.listen();
    choice.onChange(() => this.c.redraw());
    this.c.redraw();
    Object.assign(this.c.root, { view: this }); // for the test of the page
  }

  private build(box: HTMLElement): void {
    const d = this.data;
    const legend = el('p', { class: 'legend' });
    for (const group of new Set(d.groups)) legend.append(dot(kKinds[group]), `${group}  `);
    legend.append(dot(kKinds.path), 'critical path');
    const toggle = (text: string, id: string, set: (on: boolean) => void) => {
      const input = el('input', { type: 'checkbox', id, checked: true, change: () => { set(input.checked); this.c.redraw(); } });
      return el('label', {}, input, ` ${text} `);
    };
    const button = (text: string, f: () => void) => el('button', { type: 'button', click: f }, text);
    const thinned: string[] = [];
    if (d.joined_below_s > 0)
      thinned.push(`${count(d.operations)} operations are drawn as ${counted(this.begin.length, 'span')}: neighbours that take less than ${seconds(d.joined_below_s)} together are one, named by the longest.`);
    if (d.messages_total > this.messages['src']!.length)
      thinned.push(`Of ${count(d.messages_total)} messages the ${count(this.messages['src']!.length)} longest are kept.`);
    if (d.path_total > this.path['rank']!.length)
      thinned.push(`Of ${count(d.path_total)} stretches of the critical path the ${count(this.path['rank']!.length)} longest are kept.`);
    box.append(legend,
      el('div', { class: 'tools' }, button('all', () => this.look(0, this.whole)), button('+', () => this.zoom(0.5)), button('-', () => this.zoom(2)),
        toggle('messages', 'timeline-messages', (on) => (this.showMessages = on)), toggle('critical path', 'timeline-path', (on) => (this.showPath = on))),
      this.c.root, this.about, this.seen);
    if (thinned.length > 0) box.append(el('p', { class: 'note', id: 'timeline-thinned' }, thinned.join(' ')));
    box.append(el('p', { class: 'note' }, 'Wheel or + and - zoom, dragging or arrow keys move, 0 shows all, a click chooses a rank.'));
  }

  // ---- what is seen
  look(from: number, to: number): void {
    const least = Math.min(this.whole, Math.max(10, 1e-7 / this.data.tick_s)); // 100 ns across
    const width = Math.min(this.whole, Math.max(least, to - from));
    this.from = Math.max(0, Math.min(from, this.whole - width));
    this.to = this.from + width;
    this.c.redraw();
  }
  private zoom(factor: number, at = (this.from + this.to) / 2): void {
    this.look(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }
  private x(t: number): number {
    return kLeft + ((t - this.from) / (this.to - this.from)) * this.width;
  }
  private y(row: number): number {
    return kTop + ((this.lines.place[row]! + 0.5) / this.lines.count) * this.height;
  }
  private time(x: number): number {
    return this.from + ((x - kLeft) / this.width) * (this.to - this.from);
  }
  // Rows are lines of the image; of more rows than it has lines, those in the middle of each.
  private rowOfLine(line: number): number {
    return this.lines.order[Math.floor(((line + 0.5) * this.lines.count) / this.image.height)]!;
  }
  private rowAt(y: number): number {
    const line = Math.floor(((y - kTop) / this.height) * this.image.height);
    return this.rowOfLine(Math.min(this.image.height - 1, Math.max(0, line)));
  }
  // First span of a row that ends after t.
  private after(row: number, t: number): number {
    let low = this.first[row]!, high = this.first[row + 1]!;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.end[mid]! > t) high = mid;
      else low = mid + 1;
    }
    return low;
  }

  // ---- drawing
  private frame(): void {
    const started = performance.now();
    this.width = Math.max(1, this.c.width() - kLeft);
    this.height = Math.max(1, this.c.height() - kTop);
    this.columns = Math.round(this.width);
    this.theme.clear();
    this.rows();
    this.axis();
    if (this.showMessages) this.arrows();
    if (this.showPath) this.criticalPath();
    this.marks();
    this.lastFrame_ms = performance.now() - started;
    const rows = this.lines.count, drawn = this.image.height;
    this.seen.textContent = `${seconds(this.from * this.data.tick_s)} to ${seconds(this.to * this.data.tick_s)}` +
      (drawn < rows ? `; ${count(drawn)} of ${count(rows)} rows are drawn, one a line of pixels` : '');
  }
  // A colour of the style sheet, which is asked for it once a frame.
  private colour(name: string): string {
    let c = this.theme.get(name);
    if (c === undefined) this.theme.set(name, (c = colour(name)));
    return c;
  }

  // A column shows the span that takes most of it, of equal ones the first; where none is, the background.
  private rows(): void {
    const { width, height, columns } = this;
    const rows = this.lines.count, drawn = Math.min(rows, Math.max(1, Math.round(height * (devicePixelRatio || 1))));
    if (this.image.width !== columns || this.image.height !== drawn) {
      this.buffer = new OffscreenCanvas(columns, drawn);
      this.image = new ImageData(columns, drawn);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.edges = new Float64Array(columns + 1);
    }
    // Names of their own: this is where a frame's time goes.
    const { begin, end, colours, kind, first, from, to, pixels, edges } = this;
    const each = (to - from) / columns;
    for (let c = 0; c < columns; ++c) edges[c] = from + c * each;
    edges[columns] = to;
    pixels.fill(0);
    for (let line = 0; line < drawn; ++line) {
      const r = this.rowOfLine(line), row = line * columns, last = first[r + 1]!;
      let column = 0, until = edges[1]!; // the column that is being filled, and its end
      let most = 0; // of it, by the span that has most of it so far
      for (let i = this.after(r, from); i < last; ++i) {
        const e = end[i]!;
        let b = begin[i]!;
        if (e <= until && b >= from) { // most spans of a crowded view: within the column
          if (e - b > most) {
            most = e - b;
            pixels[row + column] = colours[kind[i]!]!;
          }
          continue;
        }
        if (b >= to) break;
        if (b < from) b = from;
        if (b >= until) {
          // Not after the right one, whatever rounding does to the quotient.
          if (b - until > 8 * each) column = Math.max(column, ((b - from) / each - 1) | 0);
          while (edges[column + 1]! <= b) ++column;
          until = edges[column + 1]!;
          most = 0;
        }
        const pixel = colours[kind[i]!]!;
        const here = (e < until ? e : until) - b;
        if (here > most) {
          most = here;
          pixels[row + column] = pixel;
        }
        if (e <= until) continue;
        // Whole columns, then the one in which it ends.
        let next = column + 1;
        if (e - until > 8 * each) {
          next = Math.min(columns, Math.max(next, ((e - from) / each - 1) | 0));
          pixels.fill(pixel, row + column + 1, row + next);
        }
        for (; next < columns && edges[next + 1]! <= e; ++next) pixels[row + next] = pixel;
        if (next === columns) break;
        column = next;
        until = edges[column + 1]!;
        most = e - edges[column]!;
        if (most > 0) pixels[row + column] = pixel;
      }
    }
    this.buffer.getContext('2d')!.putImageData(this.image, 0, 0);
    const g = this.c.context;
    g.imageSmoothingEnabled = false;
    g.drawImage(this.buffer, kLeft, kTop, width, height);
    const tall = height / rows;
    if (tall < 6) return;
    g.fillStyle = this.colour('--back'); // rows apart
    for (let r = 0; r <= rows; ++r) g.fillRect(kLeft, kTop + r * tall - 0.5, width, 1);
  }

  private axis(): void {
    const g = this.c.context;
    g.font = kFont;
    g.fillStyle = this.colour('--quiet');
    g.strokeStyle = this.colour('--line');
    g.textAlign = 'center';
    g.textBaseline = 'alphabetic';
    const tick = this.data.tick_s;
    for (const t of ticks(this.from * tick, this.to * tick, Math.max(2, this.width / 120))) {
      const x = this.x(t / tick);
      if (x < kLeft || x > this.c.width()) continue;
      g.beginPath();
      g.moveTo(x, kTop - 4);
      g.lineTo(x, kTop);
      g.stroke();
      g.fillText(this.label(t), Math.min(x, this.c.width() - 24), kTop - 8);
    }
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    const every = Math.max(1, Math.ceil((this.lines.count * 12) / this.height));
    let named = -every;
    for (const [place, row] of this.lines.order.entries()) {
      const lane = this.lines.lane(row);
      if (place - named < every || (lane !== null && every > 1)) continue;
      named = place;
      g.fillStyle = this.choice.chosen.rank === this.lines.rank[row] ? this.colour('--mark') : this.colour('--quiet');
      g.fillText(lane === null ? String(row) : kLaneLabels[lane]!, kLeft - (this.run.result.jobs ? 10 : 6), this.y(row));
    }
    const tall = this.height / this.lines.count;
    for (const [i, j] of (this.run.result.jobs ?? []).entries()) {
      const top = kTop + this.lines.edge(j.first_rank) * tall, bottom = kTop + this.lines.edge(j.first_rank + j.ranks) * tall;
      g.fillStyle = jobColour(i);
      g.fillRect(kLeft - 7, top, 5, bottom - top - 1);
      if (i === 0) continue;
      g.fillStyle = this.colour('--text');
      g.fillRect(kLeft - 7, top - 0.5, this.width + 7, 1); // jobs apart
    }
  }
  // As many digits as neighbouring ticks need.
  private label(t: number): string {
    const width = (this.to - this.from) * this.data.tick_s;
    const [factor, unit] = t >= 1 ? [1, 's'] : t >= 1e-3 ? [1e-3, 'ms'] : [1e-6, 'us'];
    return `${(t / factor).toFixed(Math.max(0, Math.ceil(Math.log10((factor * 12) / width))))} ${unit}`;
  }

  private arrows(): void {
    const { src, dst, sent, arrived } = this.arrow;
    const { inView, from, to } = this;
    const { rank: chosen, job } = this.choice.chosen;
    let total = 0;
    for (let i = 0; i < sent.length; ++i) {
      if (arrived[i]! < from || sent[i]! > to || (chosen !== null && src[i] !== chosen && dst[i] !== chosen)) continue;
      if (job !== null && this.job[src[i]!] !== job) continue;
      if (total < kMostArrows) inView[total] = i;
      ++total;
    }
    const drawn = Math.min(total, kMostArrows);
    this.arrowsTold(total, drawn);
    const g = this.c.context;
    g.save();
    g.beginPath();
    g.rect(kLeft, kTop, this.width, this.height);
    g.clip();
    g.strokeStyle = g.fillStyle = this.colour('--text');
    g.globalAlpha = Math.max(0.12, Math.min(0.8, 120 / Math.max(1, drawn)));
    g.lineWidth = 1;
    g.beginPath();
    for (let k = 0; k < drawn; ++k) {
      const i = inView[k]!;
      const x1 = this.x(sent[i]!), y1 = this.y(src[i]!), x2 = this.x(arrived[i]!), y2 = this.y(dst[i]!);
      g.moveTo(x1, y1);
      g.lineTo(x2, y2);
      if (drawn > 400) continue;
      const angle = Math.atan2(y2 - y1, x2 - x1);
      for (const turn of [2.7, -2.7]) {
        g.moveTo(x2, y2);
        g.lineTo(x2 + 7 * Math.cos(angle + turn), y2 + 7 * Math.sin(angle + turn));
      }
    }
    g.stroke();
    g.restore();
  }
  private arrowsTold(total: number, drawn: number): void {
    if (this.over !== null) return;
    this.about.textContent = total === drawn ? `${counted(total, 'message')} in view` : `${count(total)} messages in view, the ${count(drawn)} longest drawn`;
  }

  private criticalPath(): void {
    const { rank, receiver, from, to } = this.path as Record<'rank' | 'receiver' | 'from' | 'to', Column>;
    const g = this.c.context;
    g.save();
    g.beginPath();
    g.rect(kLeft, kTop, this.width, this.height);
    g.clip();
    // Stretches of ranks thick, messages thin; messages that lie within one column are one line over all their rows.
    const thick = Math.max(1.5, Math.min(5, this.height / this.lines.count / 3));
    const columns = Math.ceil(this.width) + 1;
    if (this.pathTop.length !== columns) {
      this.pathTop = new Float32Array(columns);
      this.pathBottom = new Float32Array(columns);
    }
    const top = this.pathTop.fill(Infinity), bottom = this.pathBottom.fill(-Infinity);
    g.fillStyle = g.strokeStyle = kKinds.path;
    g.lineWidth = 1.2;
    g.beginPath();
    for (let i = 0; i < rank.length; ++i) {
      if (to[i]! < this.from || from[i]! > this.to) continue;
      const x = this.x(from[i]!), end = this.x(to[i]!), y = this.y(rank[i]!), y2 = this.y(receiver[i]!);
      if (y === y2) {
        g.fillRect(x, y - thick / 2, Math.max(1, end - x), thick);
      } else if (end - x < 1.5) {
        const column = Math.max(0, Math.min(columns - 1, Math.floor(end - kLeft)));
        top[column] = Math.min(top[column]!, y, y2);
        bottom[column] = Math.max(bottom[column]!, y, y2);
      } else {
        g.moveTo(x, y);
        g.lineTo(end, y2);
      }
    }
    g.stroke();
    g.globalAlpha = 0.4; // of many beside each other what is below still shows
    for (let column = 0; column < columns; ++column)
      if (bottom[column]! >= top[column]!) g.fillRect(kLeft + column, top[column]!, 1, bottom[column]! - top[column]!);
    g.restore();
  }

  private marks(): void {
    const g = this.c.context;
    const each = this.height / this.lines.count;
    const { rank: chosen, job } = this.choice.chosen;
    if (job !== null) { // the others fade
      const mine = this.run.result.jobs![job]!;
      g.fillStyle = this.colour('--back');
      g.globalAlpha = 0.7;
      g.fillRect(kLeft, kTop, this.width, this.lines.edge(mine.first_rank) * each);
      const below = this.lines.edge(mine.first_rank + mine.ranks) * each;
      g.fillRect(kLeft, kTop + below, this.width, this.height - below);
      g.globalAlpha = 1;
    }
    if (chosen !== null && chosen < this.data.ranks) {
      g.strokeStyle = this.colour('--mark');
      g.lineWidth = 2;
      const top = this.lines.edge(chosen), rows = this.lines.edge(chosen + 1) - top;
      g.strokeRect(kLeft + 1, kTop + top * each, this.width - 2, rows * each);
    }
    if (this.over === null) return;
    const x = Math.max(kLeft, this.x(this.begin[this.over]!)), row = this.rowOf(this.over);
    g.strokeStyle = this.colour('--text');
    g.lineWidth = 1.5;
    g.strokeRect(x, this.y(row) - each / 2, Math.max(2, this.x(this.end[this.over]!) - x), each);
  }
  private rowOf(span: number): number {
    let r = 0;
    while (this.first[r + 1]! <= span) ++r;
    return r;
  }

  // ---- pointer and keys
  private listen(): void {
    const c = this.c.root;
    let dragged: { x: number; from: number; moved: boolean } | null = null;
    c.addEventListener('wheel', (e) => {
      e.preventDefault();
      this.zoom(Math.exp(Math.max(-1, Math.min(1, e.deltaY / 300))), this.time(e.offsetX));
    }, { passive: false });
    c.addEventListener('pointerdown', (e) => {
      dragged = { x: e.offsetX, from: this.from, moved: false };
      c.setPointerCapture(e.pointerId);
    });
    c.addEventListener('pointermove', (e) => {
      if (!dragged) return this.point(e.offsetX, e.offsetY);
      if (Math.abs(e.offsetX - dragged.x) > 3) dragged.moved = true;
      if (!dragged.moved) return;
      const by = ((e.offsetX - dragged.x) / this.width) * (this.to - this.from);
      this.look(dragged.from - by, dragged.from - by + (this.to - this.from));
    });
    c.addEventListener('pointerup', (e) => {
      if (dragged && !dragged.moved && e.offsetY > kTop) this.choice.rank(this.lines.rank[this.rowAt(e.offsetY)]!);
      dragged = null;
    });
    c.addEventListener('pointerleave', () => {
      this.over = null;
      this.c.redraw();
    });
  }
  private key(name: string): boolean {
    const width = this.to - this.from;
    const step: Record<string, () => void> = {
      ArrowLeft: () => this.look(this.from - width / 8, this.to - width / 8),
      ArrowRight: () => this.look(this.from + width / 8, this.to + width / 8),
      '+': () => this.zoom(0.5), '-': () => this.zoom(2), '0': () => this.look(0, this.whole),
    };
    step[name]?.();
    return name in step;
  }

  private point(x: number, y: number): void {
    this.over = null;
    if (x > kLeft && y > kTop) {
      const t = this.time(x), row = this.rowAt(y);
      const i = this.after(row, t);
      if (i < this.first[row + 1]! && this.begin[i]! <= t) {
        this.over = i;
        this.about.textContent = this.tell(row, i);
      }
    }
    this.c.redraw();
  }
  private tell(row: number, i: number): string {
    const rank = this.lines.rank[row]!, lane = this.lines.lane(row);
    const kind = this.kind[i]!, ops = this.spans['ops']![i]!, peer = this.spans['peer']![i]!;
    const tick = this.data.tick_s;
    const amount = this.spans['amount']![i]!;
    const job = this.job[rank] ?? null;
    const whose = job === null ? '' : ` (job ${job + 1}, its rank ${rank - this.run.result.jobs![job]!.first_rank})`;
    return `rank ${rank}${whose}${lane === null ? '' : `, ${this.data.lane_names[lane]!}`}: ${ops > 1 ? `${count(ops)} operations, longest ` : ''}${this.data.kinds[kind]!}` +
      `${peer >= 0 && this.data.groups[kind] !== 'compute' ? ` with ${peer}` : ''}${amount > 0 ? `, ${showBytes(amount)}` : ''}, ` +
      `${seconds((this.end[i]! - this.begin[i]!) * tick)} from ${seconds(this.begin[i]! * tick)}`;
  }
}
