// What replays with something changed say: links of a class twice as fast, more latency, 1 % more or less of a thing.
import type { FasterLinks, Run, Slope, Tolerance } from '../data';
import { el } from '../dom';
import { count, counted, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table } from '../table';

const kWhat: Record<string, string> = { latency: 'latency 1 % longer', bandwidth: 'data 1 % longer on links', computation: 'computation 1 % longer' };
const kWorthTelling = 0.01; // of the makespan

function orDeadlock(s: number | null): string {
  return s === null ? 'deadlock' : seconds(s);
}
function orNone(v: number | null, text: (v: number) => string): string {
  return v === null ? '-' : text(v);
}
// Beyond the least latency that matters a run takes longer, or waits forever.
function tolerated(t: Tolerance): string {
  const more = t.latency_s === null ? 'no latency costs that much' : `with ${seconds(t.latency_s)} more on every way of a message`;
  return `${percent(t.ratio)} longer${t.ends ? '' : ', or a deadlock'}: ${more}`;
}

export const whatIf: Section = {
  id: 'what-if',
  title: 'What if',
  draw(box: HTMLElement, run: Run, _choice: Choice): boolean {
    const s = run.result.sensitivity;
    if (!s?.twice_as_fast || !s.latency_tolerance || !s.slopes) return false;
    const whole = run.result.makespan_s || 1;
    const gain = (c: FasterLinks) => c.gain_s ?? -Infinity;
    const classes = s.twice_as_fast.slice().sort((a, b) => (gain(a) === gain(b) ? 0 : gain(b) - gain(a)));
    const best = classes[0];
    if (best) {
      const told = (c: FasterLinks) => `${c.name} (${counted(c.links, 'link')}), ${seconds(gain(c))} or ${percent(gain(c) / whole)} less`;
      const worth = classes.filter((c) => gain(c) >= kWorthTelling * whole);
      const most = Math.max(gain(best), Number.MIN_VALUE);
      box.append(el('h3', {}, 'If these links were twice as fast'), el('p', { id: 'worth' }, worth.length > 0 ? `Worth doubling: ${worth.map(told).join('; ')}.` :
        `No class of links is worth doubling: ${gain(best) > 0 ? `the most that one gives is ${told(best)}` : 'none gives anything'}.`),
      ...classes.map((c) => {
        const bar = el('span', { class: 'gain' });
        bar.style.width = `${(100 * Math.max(0, gain(c))) / most}%`;
        return el('div', { class: 'beside', 'aria-hidden': 'true' }, el('span', {}, c.name), el('span', { class: 'number' }, orNone(c.gain_s, (g) => percent(g / whole))), el('div', { class: 'bar' }, bar));
      }),
      table<FasterLinks>([
        { title: 'class', csv: 'name', value: (c) => c.name }, { title: 'links', value: (c) => c.links, text: (c) => count(c.links) },
        { title: 'time', csv: 'makespan_s', value: (c) => c.makespan_s, text: (c) => orDeadlock(c.makespan_s) },
        { title: 'gain', csv: 'gain_s', value: (c) => c.gain_s, text: (c) => orNone(c.gain_s, seconds) },
        { title: 'of the time', value: (c) => (c.gain_s === null ? null : c.gain_s / whole), text: (c) => orNone(c.gain_s, (g) => percent(g / whole)) },
      ], classes, { caption: 'All links of a class at twice the bandwidth: a replay each' }).root);
    }
    box.append(el('h3', {}, 'How much latency it stands'), el('ul', { id: 'tolerance' }, ...s.latency_tolerance.map((t) => el('li', {}, tolerated(t)))),
    table<Slope>([
      { title: 'what if', csv: 'what', value: (t) => kWhat[t.what] ?? t.what },
      { title: 'by the path', csv: 'told_s', value: (t) => t.told_s, text: (t) => orNone(t.told_s, seconds) },
      { title: 'replayed', csv: 'one_percent_more_s', value: (t) => t.one_percent_more_s, text: (t) => orDeadlock(t.one_percent_more_s) },
      { title: '1 % less', csv: 'one_percent_less_s', value: (t) => t.one_percent_less_s, text: (t) => orDeadlock(t.one_percent_less_s) },
      { title: 'off by', csv: 'difference_s', value: (t) => t.difference_s, text: (t) => orNone(t.difference_s, seconds) },
    ], s.slopes, { caption: 'What the critical path says of a change, and what replays with it say' }).root);
    return true;
  },
};
