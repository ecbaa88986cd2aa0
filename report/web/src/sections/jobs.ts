// Several jobs beside each other: how long each takes, how long alone, and on which links they meet.
import { max } from 'd3-array';
import { dot, shares } from '../bars';
import { jobColour } from '../colours';
import type { Job, Run } from '../data';
import { el } from '../dom';
import { bytes, percent, seconds } from '../format';
import type { Choice, Section } from '../section';
import { table, type Column } from '../table';

// Which job a rank belongs to; null where there is but one.
export function jobOf(run: Run, rank: number): number | null {
  const found = run.result.jobs?.findIndex((j) => rank >= j.first_rank && rank < j.first_rank + j.ranks) ?? -1;
  return found < 0 ? null : found;
}

const ranksOf = (j: Job) => (j.ranks === 1 ? String(j.first_rank) : `${j.first_rank} to ${j.first_rank + j.ranks - 1}`);
type Shared = NonNullable<Run['result']['shared_links']>[number];

export const jobs: Section = {
  id: 'jobs',
  title: 'Jobs',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const list = run.result.jobs;
    if (!list) return false;
    box.append(el('p', { class: 'legend' }, ...list.flatMap((_, i) => [dot(jobColour(i)), `job ${i + 1}  `])));
    const t = table<Job>([
      { title: 'job', value: (j) => list.indexOf(j) + 1 },
      { title: 'trace', value: (j) => j.trace }, { title: 'map', value: (j) => j.map },
      { title: 'its ranks', csv: 'ranks', value: ranksOf }, { title: 'hosts', value: (j) => j.hosts },
      { title: 'time', csv: 'makespan_s', value: (j) => j.makespan_s, text: (j) => seconds(j.makespan_s) },
      { title: 'alone', csv: 'alone_s', value: (j) => j.alone_s, text: (j) => seconds(j.alone_s) },
      { title: 'slowdown', value: (j) => j.slowdown, text: (j) => j.slowdown?.toFixed(3) ?? '-' },
    ], list, {
      caption: 'Each job beside the others, and alone on the same hosts', choose: (j) => choice.job(list.indexOf(j)), chosen: (j) => list.indexOf(j) === choice.chosen.job,
    });
    choice.onChange(t.update);
    box.append(t.root);
    const met = run.result.shared_links;
    if (!met || met.length === 0) {
      box.append(el('p', {}, met ? 'No link is used by more than one job.'
        : 'Which links the jobs share is not told: their messages choose ways one by one.'));
      return true;
    }
    const sum = (l: Shared) => l.by_job.reduce((a, b) => a + b, 0);
    const most = max(met, sum)!;
    const columns: Column<Shared>[] = [
      { title: 'link', value: (l) => l.name },
      { title: 'used', csv: 'utilization', value: (l) => l.utilization, text: (l) => percent(l.utilization) },
      ...list.map((_, i): Column<Shared> => ({ title: `bytes of job ${i + 1}`, csv: `job_${i + 1}_bytes`, value: (l) => l.by_job[i]!, text: (l) => bytes(l.by_job[i]!) })),
    ];
    const links = table(columns, met, {
      caption: 'Links that more than one job crosses, the most used first; bytes of each job alone', most: 10,
      choose: (l) => choice.link(l.name), chosen: (l) => l.name === choice.chosen.link,
    });
    choice.onChange(links.update);
    box.append(links.root, ...met.slice(0, 5).map((l) => el('div', {}, el('p', { class: 'note' }, l.name),
      shares(l.by_job.map((value, i) => ({ name: `job ${i + 1}: ${bytes(value)}`, colour: jobColour(i), value })), most, `bytes on ${l.name} by job`))));
    return true;
  },
};
