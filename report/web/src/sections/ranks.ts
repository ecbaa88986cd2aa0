// Where every rank's time went.
import { dot, shares } from '../bars';
import { jobColour, kKinds } from '../colours';
import type { RankTimes, Run } from '../data';
import { el } from '../dom';
import { percent, seconds } from '../format';
import { jobOf } from './jobs';
import type { Choice, Section } from '../section';
import { table, type Column } from '../table';

const kTimes: [keyof RankTimes & string, string, string][] = [
  ['compute_s', 'compute', kKinds.compute],
  ['send_s', 'send', kKinds.send],
  ['recv_s', 'receive', kKinds.receive],
  ['wait_s', 'wait', kKinds.wait],
  ['collective_s', 'collective', kKinds.collective],
];

export const ranks: Section = {
  id: 'ranks',
  title: 'Ranks',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const list = run.result.ranks;
    if (!list || list.length === 0) return false;
    const sum = (key: keyof RankTimes) => list.reduce((a, r) => a + (r[key] as number), 0);
    const whole = sum('finish_s') || 1;
    box.append(el('p', {}, 'Time of all ranks: ' + kTimes.map(([key, name]) => `${name} ${percent(sum(key) / whole)}`).join(', ') + '.'));
    box.append(shares(kTimes.map(([key, name, colour]) => ({ name, colour, value: sum(key) })), whole, 'time of all ranks'));
    for (const [i, job] of (run.result.jobs ?? []).entries()) {
      const mine = list.slice(job.first_rank, job.first_rank + job.ranks);
      const of = (key: keyof RankTimes) => mine.reduce((a, r) => a + (r[key] as number), 0);
      box.append(el('p', { class: 'note' }, dot(jobColour(i)), `job ${i + 1}, ${job.trace}: last of its ranks at ${seconds(job.makespan_s)}; ` +
        kTimes.map(([key, name]) => `${name} ${percent(of(key) / (of('finish_s') || 1))}`).join(', ')),
      shares(kTimes.map(([key, name, colour]) => ({ name, colour, value: of(key) })), of('finish_s') || 1, `time of the ranks of job ${i + 1}`));
    }
    // Beside the rank, hidden behind the rest or not: no part of its time.
    const worked = list.reduce((a, r) => a + (r.device_s ?? 0), 0);
    if (worked) box.append(el('p', { class: 'note' }, `Accelerators worked during ${percent(worked / whole)} of it, beside their ranks.`));
    const columns: Column<RankTimes>[] = [
      { title: 'rank', value: (r) => r.rank },
      ...(run.result.jobs ? [{ title: 'job', value: (r: RankTimes) => (jobOf(run, r.rank) ?? 0) + 1 }] : []),
      ...[...kTimes, ['finish_s', 'finish', ''] as const].map(([key, title]): Column<RankTimes> =>
        ({ title, csv: key, value: (r) => r[key] as number, text: (r) => seconds(r[key] as number) })),
      ...(worked ? [{ title: 'accelerator', csv: 'device_s', value: (r: RankTimes) => r.device_s ?? 0, text: (r: RankTimes) => seconds(r.device_s ?? 0) }] : []),
    ];
    const t = table(columns, list, {
      caption: 'Time by rank', most: 16, choose: (r) => choice.rank(r.rank), chosen: (r) => r.rank === choice.chosen.rank,
    });
    choice.onChange(t.update);
    box.append(t.root);
    return true;
  },
};
