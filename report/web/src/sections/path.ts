// What the makespan is made of along the critical path, where on it, and what would shorten it.
import { shares, dot } from '../bars';
import { partOf } from '../colours';
import type { Rival, Run } from '../data';
import { el } from '../dom';
import { bytes, count, counted, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table, type Table } from '../table';

export const path: Section = {
  id: 'path',
  title: 'Critical path',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const p = run.result.critical_path;
    if (!p) return false;
    const whole = run.result.makespan_s || 1; // where nothing takes time every share is 0
    const parts = Object.entries(p.parts).filter(([, s]) => s > 0).map(([name, value]) => ({ ...partOf(name), name, value }))
      .sort((a, b) => b.value - a.value);
    box.append(el('p', {}, `The makespan of ${seconds(run.result.makespan_s)} is one chain of ` +
      `${counted(p.segments_own, 'stretch', 'stretches')} of computation and calls, and of ` +
      `${counted(p.messages, 'message')} of ${bytes(p.bytes)}${p.copies > 0 ? `, ${counted(p.copies, 'copy', 'copies')} over links of ${bytes(p.copied_bytes)}` : ''}: only what is on it can shorten the run.`));
    box.append(shares(parts.map((x) => ({ name: x.text, colour: x.colour, value: x.value })), whole, 'parts of the makespan'));
    const body = el('tbody', {}, ...parts.map((x) => el('tr', {}, el('td', {}, dot(x.colour), x.text),
      el('td', { class: 'number' }, seconds(x.value)), el('td', { class: 'number' }, percent(x.value / whole)))));
    box.append(el('table', { class: 'legend', id: 'path-parts' }, el('caption', {}, 'Parts of the makespan'), body));

    const tables = el('div', { class: 'columns' });
    const add = (t: Table) => {
      choice.onChange(t.update);
      tables.append(t.root);
    };
    if (p.by_link.length > 0)
      add(table([
        { title: 'contention on the path', csv: 'link', value: (l) => l.name },
        { title: 'time', csv: 'contention_s', value: (l) => l.contention_s, text: (l) => seconds(l.contention_s) },
        { title: 'messages', value: (l) => l.messages },
        { title: 'share', value: (l) => l.contention_s / whole, text: (l) => percent(l.contention_s / whole) },
      ], p.by_link, { caption: 'Links that held the path back', most: 10, choose: (l) => choice.link(l.name), chosen: (l) => l.name === choice.chosen.link }));
    if (p.by_region.length > 1)
      add(table([
        { title: 'region', value: (r) => r.name ?? 'outside regions' },
        { title: 'own time', csv: 'own_s', value: (r) => r.own_s, text: (r) => seconds(r.own_s) },
        { title: 'messages', csv: 'messages_s', value: (r) => r.messages_s, text: (r) => seconds(r.messages_s) },
        { title: 'share', value: (r) => (r.own_s + r.messages_s) / whole, text: (r) => percent((r.own_s + r.messages_s) / whole) },
      ], p.by_region, { caption: 'The path by region', most: 10 }));
    if (p.by_rank.length > 0)
      add(table([
        { title: 'rank', value: (r) => r.rank },
        { title: 'own time on the path', csv: 'own_s', value: (r) => r.own_s, text: (r) => seconds(r.own_s) },
        { title: 'share', value: (r) => r.own_s / whole, text: (r) => percent(r.own_s / whole) },
      ], p.by_rank, { caption: 'Ranks on the path', most: 10, choose: (r) => choice.rank(r.rank), chosen: (r) => r.rank === choice.chosen.rank }));
    if (p.by_kernel && p.by_kernel.length > 1)
      add(table([
        { title: 'computation on the path', csv: 'kernel', value: (k) => k.name },
        { title: 'time', csv: 'compute_s', value: (k) => k.compute_s, text: (k) => seconds(k.compute_s) },
        { title: 'share', value: (k) => k.compute_s / whole, text: (k) => percent(k.compute_s / whole) },
      ], p.by_kernel, { caption: 'Computation by kernel', most: 10 }));
    const areCopies = (m: Rival) => m.src === m.dst;
    if (p.by_messages && p.by_messages.length > 0)
      add(table([
        { title: 'from', csv: 'src', value: (m) => m.src },
        { title: 'to', csv: 'dst', value: (m) => m.dst, text: (m) => (areCopies(m) ? `copies within ${m.src}` : String(m.dst)) },
        { title: 'contention', csv: 'contention_s', value: (m) => m.contention_s, text: (m) => seconds(m.contention_s) },
        { title: 'share', value: (m) => m.contention_s / whole, text: (m) => percent(m.contention_s / whole) },
      ], p.by_messages, { caption: `Whose messages ${p.by_messages.some(areCopies) ? 'and copies ' : ''}were in the way`, most: 10, choose: (m) => choice.rank(m.src), chosen: (m) => m.src === choice.chosen.rank }));
    box.append(tables);

    const s = run.result.sensitivity;
    if (s && s.dT_dL !== null && s.dT_dcompute_s !== null && s.dT_dbandwidth_s !== null)
      box.append(el('h3', {}, 'What would help'), el('ul', {},
        el('li', {}, `1 us more latency a message: ${seconds(s.dT_dL * 1e-6)} more (${count(s.dT_dL)} latencies on the path)`),
        el('li', {}, `computation 1 % faster: ${seconds(s.dT_dcompute_s / 100)} less`),
        el('li', {}, `links 1 % faster: ${seconds(-s.dT_dbandwidth_s / 100)} less`)),
        el('p', { class: 'note' }, 'Slopes along this path: exact as long as it stays the critical one.'));
    else if (s)
      box.append(el('p', { class: 'note' }, 'What a change is worth this path does not tell, for a series of exchanges is on it.'));
    return true;
  },
};
