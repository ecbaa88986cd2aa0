// The regions that the trace names: HPL's phases, or a program's own.
import type { Run } from '../data';
import { count, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table } from '../table';

export const regions: Section = {
  id: 'regions',
  title: 'Regions',
  draw(box: HTMLElement, run: Run, _choice: Choice): boolean {
    const list = run.result.regions.filter((r) => r.count > 0);
    if (list.length === 0) return false;
    const whole = run.result.makespan_s * run.result.trace.ranks || 1;
    box.append(table([
      { title: 'region', value: (r) => r.name },
      { title: 'times', csv: 'count', value: (r) => r.count, text: (r) => count(r.count) },
      { title: 'over all ranks', csv: 'total_s', value: (r) => r.total_s, text: (r) => seconds(r.total_s) },
      { title: 'a rank', csv: 'mean_s', value: (r) => r.total_s / run.result.trace.ranks, text: (r) => seconds(r.total_s / run.result.trace.ranks) },
      { title: 'share', value: (r) => r.total_s / whole, text: (r) => percent(r.total_s / whole) },
    ], list, { caption: 'Time within each region; one inside another counts for both', most: 25 }).root);
    return true;
  },
};
