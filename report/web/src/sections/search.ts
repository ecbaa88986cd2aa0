// A schedule of halo messages: who sends to whom when, and how all schedules are distributed.
import { max } from 'd3-array';
import { amountColour, amountLegend } from '../amounts';
import { canvas, colour, columnWidth, kFont, shortened, stepped } from '../canvas';
import { el } from '../dom';
import { count, seconds, three } from '../format';
import type { DocumentSection } from '../section';
import { table } from '../table';

interface Step { step: number; start_s: number; finish_s: number; messages: [number, number][]; factors: number[]; congested: string[] }
export interface Transfer { src: number; dst: number; bytes: number; start_s: number; finish_s: number; links: number[]; rates: [number, number, number][] }
export interface Search {
  links: { name: string; id: number; bandwidth_Bps: number }[]; // id: the fabric's order
  transfers: Transfer[];
  ranks: number; best_s: number; lower_bound_s: number; hosts: string[];
  worst_s: number | null; mean_s: number | null; // null: interrupted before any were drawn
  best: { rank: number; sends: number[] }[]; steps: Step[]; histogram?: { from_s: number; to_s: number; count: number }[];
  schedules_total: number | null; schedules_evaluated: number | null; // null: over 10^308
  proved_optimal: boolean; proof: string | null;
}

const kLeft = 70;
const kMostLeft = 200; // of the names of ranks
const kRow = 26;
const kMostRanks = 256; // drawn: a canvas of more than 65,535 pixels stays empty

// Schedules as the text has them.
const many = (n: number | null) => (n === null ? 'over 10^308' : n < 1e7 ? count(n) : three(n));

export const schedule: DocumentSection = {
  id: 'schedule',
  title: 'The best schedule',
  draw(box: HTMLElement, document: unknown): boolean {
    const s = document as Search;
    const end = max(s.steps, (p) => p.finish_s)!;
    const about = el('p', { class: 'note about', id: 'schedule-about', 'aria-live': 'polite' }, ' ');
    const ranks = Math.min(s.ranks, kMostRanks);
    const x = (t: number, width: number) => left + (t / end) * (width - left - 4);
    // What the pointer or the arrow keys are at: messages of steps, one after the other.
    const all = s.steps.flatMap((p) => p.messages.map(([from, to], i) => ({ p, from, to, factor: p.factors[i]! }))).filter(({ from }) => from < ranks);
    let over = -1;
    const point = (at: number) => {
      if (at === over) return;
      over = at;
      const m = all[at];
      about.textContent = m ? `${m.from} sends to ${m.to} from ${seconds(m.p.start_s)} to ${seconds(m.p.finish_s)}, at ${m.factor.toFixed(3)} of its rate alone` +
        (m.p.congested.length > 0 ? `; congested: ${m.p.congested.join(', ')}` : '') : ' ';
      c.redraw();
    };
    const c = canvas(20 + ranks * kRow, 'messages by sender over time; arrow keys go from message to message', () => {
      const g = c.context;
      g.font = kFont;
      g.textBaseline = 'middle';
      for (let r = 0; r < ranks; ++r) {
        g.fillStyle = colour('--quiet');
        g.textAlign = 'right';
        g.fillText(`${r} ${shortened(g, s.hosts[r] ?? '', left - 14 - g.measureText(`${r} `).width)}`, left - 6, 20 + (r + 0.5) * kRow);
      }
      g.textAlign = 'center';
      for (const p of s.steps) {
        g.fillStyle = colour('--quiet');
        g.fillText(seconds(p.start_s), Math.max(left + 10, x(p.start_s, c.width())), 8);
      }
      all.forEach(({ p, from, to, factor }, at) => {
        const begin = x(p.start_s, c.width()), right = x(p.finish_s, c.width());
        g.fillStyle = amountColour(factor);
        g.fillRect(begin, 20 + from * kRow + 3, right - begin - 1, kRow - 6);
        g.fillStyle = factor > 0.4 ? '#000' : '#fff';
        if (right - begin > 24) g.fillText(`to ${to}`, (begin + right) / 2, 20 + (from + 0.5) * kRow);
        if (at !== over) return;
        g.strokeStyle = colour('--mark');
        g.lineWidth = 2;
        g.strokeRect(begin, 20 + from * kRow + 3, right - begin - 1, kRow - 6);
      });
    }, (name) => {
      const next = stepped(name, over, all.length);
      if (next !== null) point(next);
      return next !== null;
    });
    const left = columnWidth(c.context, Array.from({ length: ranks }, (_, r) => `${r} ${s.hosts[r] ?? ''}`), kLeft, kMostLeft);
    c.root.addEventListener('pointermove', (e) => {
      const rank = Math.floor((e.offsetY - 20) / kRow), t = ((e.offsetX - left) / (c.width() - left - 4)) * end;
      point(all.findIndex(({ p, from }) => from === rank && p.start_s <= t && t < p.finish_s));
    });
    c.root.addEventListener('blur', () => point(-1));
    box.append(amountLegend('0', '1: congestion factor, the share of its rate alone'), c.root, about,
      ...(ranks < s.ranks ? [el('p', { class: 'note', id: 'schedule-cut' }, `The first ${ranks} of ${count(s.ranks)} ranks; the table has all.`)] : []),
      table([
        { title: 'rank', value: (b) => b.rank }, { title: 'host', value: (b) => s.hosts[b.rank] ?? '' }, { title: 'sends in this order to', value: (b) => b.sends.join(' ') },
      ], s.best, { caption: 'The schedule' }).root);
    c.redraw();
    return true;
  },
};

export const distribution: DocumentSection = {
  id: 'distribution',
  title: 'All schedules',
  draw(box: HTMLElement, document: unknown): boolean {
    const s = document as Search;
    box.append(el('p', {}, `${many(s.schedules_evaluated)} of ${many(s.schedules_total)} schedules were timed; best ${seconds(s.best_s)}, ${s.mean_s === null ? '' : `mean ${seconds(s.mean_s)}, `}` +
      `${s.worst_s === null ? '' : `worst ${seconds(s.worst_s)}, `}none can be below ${seconds(s.lower_bound_s)}. ${s.proved_optimal ? `The best is proven optimal: ${s.proof}.` : 'Not proven optimal.'}`));
    const bins = s.histogram ?? [];
    if (bins.length === 0) return true;
    const most = max(bins, (b) => b.count)!;
    const c = canvas(240, 'how many schedules take how long', () => {
      const g = c.context, wide = (c.width() - kLeft) / bins.length, high = c.height() - 40;
      g.font = kFont;
      bins.forEach((b, i) => {
        const h = (b.count / most) * high;
        g.fillStyle = '#0072B2';
        g.fillRect(kLeft + i * wide + 1, 20 + high - h, wide - 2, h);
        g.fillStyle = colour('--quiet');
        g.textAlign = 'center';
        g.fillText(many(b.count), kLeft + (i + 0.5) * wide, 14 + high - h);
        if (i % Math.ceil(70 / wide) === 0) g.fillText(seconds(b.from_s), kLeft + i * wide, c.height() - 4);
      });
    });
    box.append(c.root, table([
      { title: 'from', csv: 'from_s', value: (b) => b.from_s, text: (b) => seconds(b.from_s) }, { title: 'to', csv: 'to_s', value: (b) => b.to_s, text: (b) => seconds(b.to_s) },
      { title: 'schedules', value: (b) => b.count, text: (b) => many(b.count) },
    ], bins, { caption: 'Schedules by their time', most: 10 }).root);
    c.redraw();
    return true;
  },
};
