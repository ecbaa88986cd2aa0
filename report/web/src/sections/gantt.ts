// The best schedule over links: a row a link, each message that it carries as tall as its share of the link.
import { max, ticks } from 'd3-array';
import { amountColour, amountLegend } from '../amounts';
import { canvas, colour, kFont, shortened, stepped } from '../canvas';
import { el } from '../dom';
import { bytes, count, seconds } from '../format';
import type { Search, Transfer } from './search';
import type { DocumentSection } from '../section';
import { table } from '../table';

const kLeft = 150;
const kTop = 20;
const kRow = 24;
const kMostRows = 64;

// A message on a link while all rates stay: from `low` to `high` of what the link can carry, at `factor` of its rate alone.
interface Bar { message: number; row: number; from: number; to: number; low: number; high: number; factor: number }

function barsOf(s: Search, rows: number[]): Bar[] {
  const bars: Bar[] = [];
  rows.forEach((link, row) => {
    const over = s.transfers.map((t, message) => ({ t, message })).filter(({ t }) => t.links.includes(link));
    const moments = [...new Set(over.flatMap(({ t }) => t.rates.flatMap(([from, to]) => [from, to])))].sort((a, b) => a - b);
    const at = new Map(moments.map((m, i) => [m, i]));
    const filled = new Float64Array(moments.length); // of the link, by interval
    for (const { t, message } of over)
      for (const [from, to, rate] of t.rates)
        for (let i = at.get(from)!; i < at.get(to)!; ++i) {
          const low = filled[i]!;
          filled[i] = low + rate / s.links[link]!.bandwidth_Bps;
          bars.push({ message, row, from: moments[i]!, to: moments[i + 1]!, low, high: filled[i]!, factor: rate / s.links[t.links[0]!]!.bandwidth_Bps });
        }
  });
  return bars;
}

export const occupation: DocumentSection = {
  id: 'occupation',
  title: 'Links by time',
  draw(box: HTMLElement, document: unknown): boolean {
    const s = document as Search;
    const end = max(s.transfers, (t) => t.finish_s) ?? 0;
    if (s.links.length === 0 || end === 0) return false;
    // The fabric's order, which is that of its trees from their roots; of many links those that carry most.
    const busy = s.links.map(() => 0);
    for (const t of s.transfers) for (const l of t.links) busy[l]! += t.bytes / s.links[l]!.bandwidth_Bps;
    const rows = busy.map((_, l) => l).filter((l) => busy[l]! > 0).sort((a, b) => busy[b]! - busy[a]! || a - b).slice(0, kMostRows).sort((a, b) => s.links[a]!.id - s.links[b]!.id);
    const bars = barsOf(s, rows);
    const byStart = s.transfers.map((_, m) => m).sort((a, b) => s.transfers[a]!.start_s - s.transfers[b]!.start_s || a - b);
    let chosen: number | null = null;

    const about = el('p', { class: 'note about', id: 'occupation-about', 'aria-live': 'polite' }, ' ');
    const tell = (m: number): string => {
      const t = s.transfers[m]!;
      return `${t.src} to ${t.dst}: ${bytes(t.bytes)} from ${seconds(t.start_s)} to ${seconds(t.finish_s)} over ${t.links.map((l) => s.links[l]!.name).join(', ')}`;
    };
    const choose = (m: number | null) => {
      chosen = m;
      about.textContent = m === null ? ' ' : tell(m);
      c.redraw();
      messages.update();
    };
    const x = (t: number) => kLeft + (t / end) * (c.width() - kLeft - 4);
    const place = (b: Bar): [number, number, number, number] => {
      const tall = kRow - 5, floor = kTop + (b.row + 1) * kRow - 2;
      return [x(b.from), floor - b.high * tall, x(b.to) - x(b.from), (b.high - b.low) * tall];
    };
    const c = canvas(kTop + rows.length * kRow, 'messages on links over time; arrow keys choose a message, Escape lets it go', () => {
      const g = c.context;
      g.font = kFont;
      g.textBaseline = 'middle';
      rows.forEach((l, row) => {
        g.fillStyle = colour('--quiet');
        g.textAlign = 'right';
        g.fillText(shortened(g, s.links[l]!.name, kLeft - 10), kLeft - 6, kTop + (row + 0.5) * kRow);
        g.fillStyle = colour('--line');
        g.fillRect(kLeft, kTop + (row + 1) * kRow - 2, c.width() - kLeft - 4, 1);
      });
      g.textAlign = 'center';
      g.fillStyle = colour('--quiet');
      for (const t of ticks(0, end, Math.max(2, (c.width() - kLeft) / 120))) g.fillText(seconds(t), Math.min(c.width() - 30, Math.max(kLeft + 10, x(t))), 8);
      for (const b of bars) {
        const [left, top, wide, tall] = place(b);
        g.globalAlpha = chosen === null || chosen === b.message ? 1 : 0.3;
        g.fillStyle = amountColour(b.factor);
        g.fillRect(left, top + 0.5, Math.max(1, wide - 1), Math.max(1, tall - 1));
        if (chosen === b.message) {
          g.strokeStyle = colour('--mark');
          g.lineWidth = 2;
          g.strokeRect(left + 1, top + 1, Math.max(1, wide - 2), Math.max(1, tall - 2));
        }
        const { src, dst } = s.transfers[b.message]!;
        g.fillStyle = b.factor > 0.4 ? '#000' : '#fff';
        if (wide > 40 && tall > 11) g.fillText(`${src} to ${dst}`, left + wide / 2, top + tall / 2 + 1);
      }
      g.globalAlpha = 1;
    }, (name) => {
      const next = stepped(name, chosen === null ? -1 : byStart.indexOf(chosen), byStart.length);
      if (next !== null) choose(byStart[next]!);
      else if (name === 'Escape') choose(null);
      return next !== null || name === 'Escape';
    });
    const under = (e: MouseEvent): number | null => {
      const b = bars.find((one) => {
        const [left, top, wide, tall] = place(one);
        return left <= e.offsetX && e.offsetX < left + wide && top <= e.offsetY && e.offsetY < top + tall;
      });
      return b ? b.message : null;
    };
    c.root.addEventListener('pointermove', (e) => {
      const m = under(e) ?? chosen;
      about.textContent = m === null ? ' ' : tell(m);
    });
    c.root.addEventListener('click', (e) => {
      const m = under(e);
      choose(m === chosen ? null : m);
    });
    const messages = table<number>([
      { title: 'from', csv: 'src', value: (m) => s.transfers[m]!.src }, { title: 'to', csv: 'dst', value: (m) => s.transfers[m]!.dst },
      { title: 'size', csv: 'bytes', value: (m) => s.transfers[m]!.bytes, text: (m) => bytes(s.transfers[m]!.bytes) },
      { title: 'starts', csv: 'start_s', value: (m) => s.transfers[m]!.start_s, text: (m) => seconds(s.transfers[m]!.start_s) },
      { title: 'ends', csv: 'finish_s', value: (m) => s.transfers[m]!.finish_s, text: (m) => seconds(s.transfers[m]!.finish_s) },
      { title: 'of its rate alone', csv: 'factor', value: (m) => meanFactor(s, s.transfers[m]!), text: (m) => meanFactor(s, s.transfers[m]!)?.toFixed(3) ?? '-' },
      { title: 'links', value: (m) => s.transfers[m]!.links.map((l) => s.links[l]!.name).join(' ') },
    ], byStart, { caption: 'Messages by their start', most: 24, choose: (m) => choose(m === chosen ? null : m), chosen: (m) => m === chosen });
    box.append(amountLegend('0', '1: congestion factor, the share of its rate alone'), c.root, about);
    if (rows.length < busy.filter((b) => b > 0).length)
      box.append(el('p', { class: 'note' }, `The ${kMostRows} links that carry most, of ${count(busy.filter((b) => b > 0).length)} that carry anything.`));
    box.append(el('p', { class: 'note' }, 'A bar is as tall as the share of its link that the message takes. A click on a message, or its row, shows it on all its links.'),
      messages.root);
    c.redraw();
    // For the test of the page: where message `m` is drawn, on each of its links; and which one is chosen.
    Object.assign(c.root, {
      placesOf: (m: number) => bars.filter((b) => b.message === m).map((b) => { const [l, t, w, h] = place(b); return [rows[b.row], l + w / 2, t + h / 2, h]; }),
      chosenMessage: () => chosen,
    });
    return true;
  },
};

function meanFactor(s: Search, t: Transfer): number | null {
  const first = t.links[0];
  return first === undefined || t.finish_s <= t.start_s ? null : t.bytes / (t.finish_s - t.start_s) / s.links[first]!.bandwidth_Bps;
}
