// The ranking: a row a run, and why each is slower. Choosing a row shows that run below.
import { isDeadlock, type Page, type Row } from '../data';
import { el } from '../dom';
import { percent, seconds } from '../format';
import { table, type Column, type Table } from '../table';

// What tells a run from the others.
export function rowName(r: Row, page: Page): string {
  const platform = (row: Row) => row.label ?? row.platform;
  const differ = (value: (row: Row) => string) => page.rows.some((o) => platform(o) === platform(r) && value(o) !== value(r));
  const parts = [platform(r)];
  if (differ((o) => o.map)) parts.push(`map ${r.map}`);
  if (differ((o) => o.routing)) parts.push(`routing ${r.routing}`);
  if (page.rows.some((o) => o.trace !== r.trace)) parts.unshift(`${r.trace} on`);
  return parts.join(' ');
}

// Columns of every table of runs: what is only in the CSV is called as in that of `compare --csv`. A run that hangs took no time.
export const platformColumns: Column<Row>[] = [
  { title: 'platform', value: (r) => r.platform, order: (r) => r.label ?? r.platform, text: (r) => r.label ?? r.platform },
  { title: 'label', value: (r) => r.label ?? null, unseen: true },
];
export const timeColumn: Column<Row> = {
  title: 'time', csv: 'makespan_s', value: (r) => r.makespan_s, order: (r) => (isDeadlock(r) ? null : r.makespan_s), text: (r) => (isDeadlock(r) ? 'deadlock' : seconds(r.makespan_s)),
};
export const errorColumn: Column<Row> = { title: 'error', value: (r) => r.error ?? null, unseen: true };

export function ranking(page: Page, shown: () => number, show: (run: number) => void): { root: HTMLElement; update(): void } {
  const place = new Map(page.rows.map((r, i) => [r, i + 1]));
  const columns: Column<Row>[] = [
    { title: '#', value: (r) => place.get(r)! },
    ...platformColumns,
    { title: 'map', value: (r) => r.map },
    { title: 'routing', value: (r) => r.routing },
    timeColumn,
    { title: 'slowdown', value: (r) => r.slowdown, text: (r) => r.slowdown?.toFixed(3) ?? '-' },
    { title: 'hops', csv: 'mean_hops', value: (r) => r.mean_hops, text: (r) => r.mean_hops.toFixed(2) },
    { title: 'worst link', csv: 'worst_link', value: (r) => r.worst_link },
    { title: 'used', csv: 'worst_link_utilization', value: (r) => r.worst_link_utilization, text: (r) => percent(r.worst_link_utilization) },
    { title: 'most waited for', csv: 'most_waited_link', value: (r) => r.most_waited_link },
    { title: 'waited', csv: 'most_waited_s', value: (r) => r.most_waited_s, text: (r) => (r.most_waited_link ? seconds(r.most_waited_s) : '-') },
    { title: 'hosts', value: (r) => r.hosts },
    { title: 'switches', value: (r) => r.switches },
    { title: 'cables', value: (r) => r.cables },
    errorColumn,
  ];
  if (page.rows.some((r) => r.trace !== page.rows[0]!.trace)) columns.splice(1, 0, { title: 'trace', value: (r) => r.trace });
  const several = page.runs.length > 1;
  const t: Table = table(columns, page.rows, {
    caption: several ? 'Runs by time; choose a row to see that run below' : 'The run',
    ...(several ? { choose: (r: Row) => show(r.run), chosen: (r: Row) => r.run === shown() } : {}),
  });
  const why = el('ol', { class: 'why' }, ...page.rows.map((r) =>
    el('li', {}, el('strong', {}, rowName(r, page)), ': ', r.why)));
  return { root: el('div', {}, t.root, why), update: t.update };
}
