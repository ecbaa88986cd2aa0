// Where every rank's time went.
import { shares } from './bars';
import { kKinds } from './colours';
import type { RankTimes, Run } from './data';
import { el } from './dom';
import { percent, seconds } from './format';
import type { Choice, Section } from './section';
import { table, type Column } from './table';

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
    const columns: Column<RankTimes>[] = [
      { title: 'rank', value: (r) => r.rank },
      ...[...kTimes, ['finish_s', 'finish', ''] as const].map(([key, title]): Column<RankTimes> =>
        ({ title, csv: key, value: (r) => r[key] as number, text: (r) => seconds(r[key] as number) })),
    ];
    const t = table(columns, list, {
      caption: 'Time by rank', most: 16, choose: (r) => choice.rank(r.rank), chosen: (r) => r.rank === choice.chosen.rank,
    });
    choice.onChange(t.update);
    box.append(t.root);
    return true;
  },
};
