// HPL's panels in a replayed trace: where the time of each went, and what look-ahead hid of making and sending it.
import { curves } from '../curves';
import { unpackAll, type Column } from '../columns';
import type { PanelData, Run } from '../data';
import { el } from '../dom';
import { percent, seconds } from '../format';
import type { Choice, Section } from '../section';

function sum(c: Column): number {
  let all = 0;
  for (let i = 0; i < c.length; ++i) all += c[i]!;
  return all;
}
const across = (data: PanelData) => ({ label: 'panel', text: (k: number) => String(k * data.per_point), whole: true });
const up = { label: 'time of a panel', text: seconds };

// Draws once the columns are open; says why there are none where that is known.
function section(id: string, title: string, draw: (box: HTMLElement, data: PanelData, c: Record<keyof PanelData['columns'], Column>) => void): Section {
  return {
    id,
    title,
    draw(box: HTMLElement, run: Run, _choice: Choice): boolean {
      const data = run.panels;
      if (!data) return false;
      if (data.none !== undefined) box.append(el('p', {}, `No panel curve: ${data.none}.`));
      else void unpackAll(data.columns).then((columns) => draw(box, data, columns));
      return true;
    },
  };
}

export const panels = section('panels', 'Panel curve', (box, data, c) => {
  // By how much the run went on while the last rank was at these panels; a point stands for several where there are many.
  const each = (column: Column) => Array.from(column, (v) => v / data.per_point);
  const went = Array.from(c.end_s, (v, i) => (v - (i > 0 ? c.end_s[i - 1]! : 0)) / data.per_point);
  box.append(curves(went.map((_, i) => i), [
    { name: 'the run goes on by', values: went }, { name: 'update', values: each(c.update_s) }, { name: 'swap', values: each(c.swap_s) },
    { name: 'waiting for panels, sending them on', values: each(c.bcast_s) }, { name: 'factorisation', values: each(c.pfact_s) },
  ], across(data), up), el('p', { class: 'note' }, `Phases are means over the ranks.${data.per_point > 1 ? ` A point is the mean of ${data.per_point} panels.` : ''}`));
});

export const lookAhead = section('look-ahead', 'Look-ahead', (box, data, c) => {
  const made = sum(c.factor_s), sent = sum(c.bcast_took_s), waited = sum(c.bcast_waited_s);
  const behind = made + sent > 0 ? Math.max(0, 1 - waited / (made + sent)) : 0;
  box.append(el('p', { id: 'hidden' }, `All panels one after the other take ${seconds(made)} to factor (the slowest rank of each) and ${seconds(sent)} to reach the other ranks, ` +
    `who wait for them for ${seconds(waited)}: ${percent(behind)} of it goes on behind other work.`));
  // From where on updates are too short to hide anything behind.
  const need = Array.from(c.factor_s, (v, i) => v + c.bcast_took_s[i]!);
  let from = need.length;
  while (from > 0 && c.update_s[from - 1]! < need[from - 1]!) --from;
  if (from < need.length) {
    const left = 1 - (from > 0 ? c.end_s[from - 1]! : 0) / (c.end_s[c.end_s.length - 1]! || 1);
    box.append(el('p', {}, `From panel ${from * data.per_point} on, which is ${percent(left)} of the time, factoring and sending a panel takes longer than an update: it cannot be hidden whole.`));
  } else {
    box.append(el('p', {}, 'Every update is as long as it takes to factor and send a panel.'));
  }
  const each = (column: ArrayLike<number>) => Array.from(column, (v) => v / data.per_point);
  box.append(curves(need.map((_, i) => i), [
    { name: 'factoring and sending', values: each(need) }, { name: 'update', values: each(c.update_s) }, { name: 'waited for it', values: each(c.bcast_waited_s) },
  ], across(data), up));
});
