// The links that were used most.
import type { LinkUse, Run } from '../data';
import { byteRate, bytes, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table, type Column } from '../table';

export const links: Section = {
  id: 'links',
  title: 'Links',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const list = run.result.links;
    if (list.length === 0) return false;
    const columns: Column<LinkUse>[] = [
      { title: 'link', value: (l) => l.name },
      { title: 'class', value: (l) => l.class },
      { title: 'bandwidth', csv: 'bandwidth_Bps', value: (l) => l.bandwidth_Bps, text: (l) => byteRate(l.bandwidth_Bps) },
      { title: 'bytes', value: (l) => l.bytes, text: (l) => bytes(l.bytes) },
      { title: 'busy', csv: 'busy_s', value: (l) => l.busy_s, text: (l) => seconds(l.busy_s) },
      { title: 'used', csv: 'utilization', value: (l) => l.utilization, text: (l) => percent(l.utilization) },
      { title: 'peak flows', csv: 'peak_flows', value: (l) => l.peak_flows },
      { title: 'waited', csv: 'waited_s', value: (l) => l.waited_s, text: (l) => seconds(l.waited_s) },
    ];
    const t = table(columns, list, {
      caption: `The ${list.length} links used most, of ${run.result.platform.links}`,
      choose: (l) => choice.link(l.name), chosen: (l) => l.name === choice.chosen.link,
    });
    choice.onChange(t.update);
    box.append(t.root);
    return true;
  },
};
