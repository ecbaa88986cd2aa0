// A sweep: its runs, time over each key that was swept, and where the ranking flips.
import { curves, type Curve } from '../curves';
import { isDeadlock, type Row } from '../data';
import { el } from '../dom';
import { percent, seconds } from '../format';
import { errorColumn, platformColumns, timeColumn } from './ranking';
import type { DocumentSection } from '../section';
import { table } from '../table';

type SweepRow = Row & { set: Record<string, string> };
interface Flip {
  key: string; from: string; to: string; platforms: [string, string]; trace: string; map: string;
  set: Record<string, string>; at_text: string | null; how: string | null;
}
interface Sweep { rows: SweepRow[]; flips: Flip[] }

const kMostCurves = 16;
const words = (set: Record<string, string>) => Object.entries(set).map(([k, v]) => `${k}=${v}`).join(', ');

export const sweepCurves: DocumentSection = {
  id: 'curves',
  title: 'Curves',
  draw(box: HTMLElement, document: unknown): boolean {
    const { rows, flips } = document as Sweep;
    const keys = Object.keys(rows[0]?.set ?? {});
    if (rows.length < 2 || keys.length === 0) return false;
    const labels = new Map<string, string>();
    for (const r of rows) if (!labels.has(r.platform)) labels.set(r.platform, r.label ?? r.platform);
    const called = (platform: string) => labels.get(platform) ?? platform;
    const traces = rows.some((r) => r.trace !== rows[0]!.trace), maps = rows.some((r) => r.map !== rows[0]!.map);
    for (const key of keys) {
      const values = [...new Set(rows.map((r) => r.set[key]!))];
      const place = new Map(values.map((v, i) => [v, i]));
      // The order of the flags, which is that of rows within one trace.
      const by = new Map<string, Curve>();
      for (const r of rows) {
        const others = { ...r.set };
        delete others[key];
        const name = [traces ? r.trace : '', r.label ?? r.platform, maps ? `map ${r.map}` : '', words(others)]
          .filter((s) => s !== '').join(', ');
        if (!by.has(name)) by.set(name, { name, values: values.map(() => null) });
        if (!isDeadlock(r)) by.get(name)!.values[place.get(r.set[key]!)!] = r.makespan_s;
      }
      const list = [...by.values()];
      const marks = flips.filter((f) => f.key === key).map((f) => (place.get(f.from)! + place.get(f.to)!) / 2);
      box.append(el('h3', {}, key), curves(values.map((_, i) => i), list.slice(0, kMostCurves),
        { label: key, text: (i) => values[i] ?? '', whole: true }, { label: 'time', text: seconds }, marks));
      if (list.length > kMostCurves) box.append(el('p', { class: 'note' }, `The first ${kMostCurves} of ${list.length} curves; the table has all.`));
    }
    const where = el('ul', { id: 'flips' });
    for (const f of flips)
      where.append(el('li', {}, `${called(f.platforms[0])} is faster with ${f.key}=${f.from}, ${called(f.platforms[1])} with ${f.key}=${f.to}` +
        `${f.at_text ? `; they meet at ${f.at_text} (${f.how})` : ''}${words(f.set) ? `, with ${words(f.set)}` : ''}`));
    box.append(el('h3', {}, 'Where the ranking flips'), flips.length === 0 ? el('p', {}, 'Nowhere within these values.') : where);
    return true;
  },
};

export const sweepRows: DocumentSection = {
  id: 'sweep',
  title: 'Runs',
  draw(box: HTMLElement, document: unknown): boolean {
    const { rows } = document as Sweep;
    const keys = Object.keys(rows[0]?.set ?? {});
    box.append(table<SweepRow>([
      ...(new Set(rows.map((r) => r.trace)).size > 1 ? [{ title: 'trace', value: (r: SweepRow) => r.trace }] : []),
      ...keys.map((k) => ({ title: k, value: (r: SweepRow) => r.set[k]! })),
      ...platformColumns,
      { title: 'map', value: (r) => r.map },
      timeColumn,
      { title: 'slowdown', value: (r) => r.slowdown, text: (r) => r.slowdown?.toFixed(3) ?? '-' },
      { title: 'worst link', csv: 'worst_link', value: (r) => r.worst_link },
      { title: 'used', csv: 'worst_link_utilization', value: (r) => r.worst_link_utilization, text: (r) => percent(r.worst_link_utilization) },
      { title: 'why', value: (r) => r.why },
      errorColumn,
    ], rows, { caption: 'Runs of the sweep' }).root);
    return true;
  },
};
