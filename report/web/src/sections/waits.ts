// Where ranks waited for others that were late, and whose delays that is due to.
import { dot, shares } from '../bars';
import type { Delay, Run, WaitsOfRank, WaitsOfRegion, WaitTimes } from '../data';
import { el } from '../dom';
import { counted, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table, type Column } from '../table';

const kKindsOfWaits: Record<string, { text: string; colour: string }> = {
  late_sender_s: { text: 'late sender: its send not called yet', colour: '#7A5195' },
  late_receiver_s: { text: 'late receiver: its receive not called yet', colour: '#A0A0A0' },
  wait_at_barrier_s: { text: 'barrier: the last one not there yet', colour: '#0072B2' },
  wait_at_nxn_s: { text: 'all-to-all collective: the last one not there yet', colour: '#56B4E9' },
  late_broadcast_s: { text: 'bcast, scatter: the root not there yet', colour: '#009E73' },
  early_reduce_s: { text: 'reduce, gather: the root, before anybody else', colour: '#E69F00' },
  early_scan_s: { text: 'scan: a rank below not there yet', colour: '#CC79A7' },
};

export const waits: Section = {
  id: 'waits',
  title: 'Wait states',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const w = run.result.wait_states;
    if (!w) return false;
    const whole = w.total_s;
    if (whole <= 0) {
      box.append(el('p', {}, 'No rank waited for one that was late.'));
      return true;
    }
    const finish = (run.result.ranks ?? []).reduce((a, r) => a + r.finish_s, 0);
    box.append(el('p', {}, `${counted(w.waits, 'wait')} for ranks that were late, ${seconds(whole)} in all${finish > 0 ? `: ${percent(whole / finish)} of the ranks' time` : ''}.`));
    const kinds = Object.entries(kKindsOfWaits).map(([key, kind]) => ({ ...kind, value: (w as unknown as Record<string, number>)[key] ?? 0 }))
      .filter((k) => k.value > 0).sort((a, b) => b.value - a.value);
    box.append(shares(kinds.map((k) => ({ name: k.text, colour: k.colour, value: k.value })), whole, 'kinds of waits'),
      el('table', { class: 'legend', id: 'waits-kinds' }, el('caption', {}, 'Kinds of waits'), el('tbody', {}, ...kinds.map((k) => el('tr', {}, el('td', {}, dot(k.colour), k.text),
        el('td', { class: 'number' }, seconds(k.value)), el('td', { class: 'number' }, percent(k.value / whole)))))));
    // Every second of waiting ends at one delay.
    const cost = (d: Delay) => d.direct_s + d.propagated_s;
    const delays = table<Delay>([
      { title: 'delayed by rank', csv: 'rank', value: (d) => d.rank }, { title: 'with', csv: 'what', value: (d) => d.what }, { title: 'in', csv: 'region', value: (d) => d.region ?? 'outside regions' },
      { title: 'directly', csv: 'direct_s', value: (d) => d.direct_s, text: (d) => seconds(d.direct_s) },
      { title: 'handed on', csv: 'propagated_s', value: (d) => d.propagated_s, text: (d) => seconds(d.propagated_s) },
      { title: 'of all waits', value: (d) => cost(d) / whole, text: (d) => percent(cost(d) / whole) },
    ], w.delays, {
      caption: `Delays that caused them, ${w.delays_total > w.delays.length ? `the first ${w.delays.length} of ${w.delays_total}` : 'the costliest first'}`, most: 10,
      choose: (d) => choice.rank(d.rank), chosen: (d) => d.rank === choice.chosen.rank,
    });
    const columns = ([['waited', 'total_s'], ['caused directly', 'caused_direct_s'], ['handed on', 'caused_propagated_s']] as const)
      .map(([title, key]): Column<WaitTimes> => ({ title, csv: key, value: (t) => t[key], text: (t) => seconds(t[key]) }));
    const ranks = table<WaitsOfRank>([
      { title: 'rank', value: (r) => r.rank }, ...columns, { title: 'longest for', csv: 'longest_for', value: (r) => r.longest_for },
    ], w.by_rank ?? [], { caption: 'Waits by rank, and what it caused', most: 10, choose: (r) => choice.rank(r.rank), chosen: (r) => r.rank === choice.chosen.rank });
    const regions = table<WaitsOfRegion>([{ title: 'region', csv: 'name', value: (r) => r.name ?? 'outside regions' }, ...columns], w.by_region,
      { caption: 'Waits by region, and what was caused there', most: 10 });
    choice.onChange(() => { delays.update(); ranks.update(); });
    box.append(delays.root, el('div', { class: 'columns' }, ...(w.by_rank ? [ranks.root] : []), ...(w.by_region.length > 1 ? [regions.root] : [])),
      el('p', { class: 'note' }, 'Directly: the late one did more of this since both last met. Handed on: it was late because it waited itself, for one that this delayed.'));
    return true;
  },
};
