// The efficiency tree as the POP centre defines it: each product is the bar above it.
import type { Run } from '../data';
import { el } from '../dom';
import { seconds } from '../format';
import type { Section } from '../section';

const kWithout: Record<string, string> = { contention: 'contention', latency: 'latency', bandwidth: 'bandwidth and processor time' };
const kGood = 0.8; // what POP calls acceptable

function node(name: string, value: number, meaning: string, ...below: HTMLElement[]): HTMLElement {
  const meter = el('span', { class: 'meter', 'aria-hidden': 'true' }, el('span', {}));
  (meter.firstChild as HTMLElement).style.width = `${100 * Math.min(1, value)}%`;
  return el('li', { class: value < kGood ? 'low' : '' },
    el('span', { class: 'value' }, value.toFixed(3)), meter, el('strong', {}, name), ` ${meaning}`,
    value < kGood && el('em', {}, ` (below ${kGood})`), below.length > 0 && el('ul', {}, ...below));
}

export const efficiency: Section = {
  id: 'efficiency',
  title: 'Efficiency',
  draw(box: HTMLElement, run: Run): boolean {
    const e = run.result.efficiency;
    if (!e) return false;
    box.append(el('ul', { class: 'tree' },
      node('parallel efficiency', e.parallel, 'mean computation / makespan',
        node('load balance', e.load_balance, 'mean / largest computation of a rank'),
        node('communication efficiency', e.communication, 'largest computation / makespan',
          node('serialisation', e.serialisation, 'largest computation / makespan on an ideal network'),
          node('transfer', e.transfer, `ideal network (${seconds(e.ideal_network_s)}) / makespan`,
            ...(e.transfer_split ?? []).map((s) => node(kWithout[s.without] ?? s.without, s.efficiency, `without it the run takes ${seconds(s.makespan_s)}`)))))));
    box.append(el('p', { class: 'note' }, 'Each is the product of those below it. An ideal network takes no time for messages: what is left is ' +
      'computation and who waits for whom.' + (e.transfer_split ? ' Contention, latency and the rest are taken away in this order, on which their shares depend.' : '')));
    return true;
  },
};
