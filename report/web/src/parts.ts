// What each run's makespan is made of, side by side: why one is slower than another. Parts of a run add up to its time, so
// differences of parts add up to the difference of times.
import { dot, shares } from './bars';
import { partOf } from './colours';
import type { Page, Row } from './data';
import { el } from './dom';
import { percent, seconds } from './format';
import { rowName } from './ranking';
import { table, type Column } from './table';

const kMostRuns = 12;
type Parts = Record<string, number>;
interface Line { part: string; text: string; colour: string; by: number[] } // seconds, by run

const signed = (s: number) => (s === 0 ? '0' : `${s > 0 ? '+' : '-'}${seconds(Math.abs(s))}`);

// Of one trace's runs, the fastest first.
function group(rows: Row[], parts: Parts[], page: Page, show: (run: number) => void): HTMLElement {
  const most = Math.max(...rows.map((r) => r.makespan_s)) || 1;
  const lines: Line[] = Object.keys(parts[0]!).map((part) => ({ ...partOf(part), part, by: parts.map((p) => p[part] ?? 0) }))
    .filter((l) => l.by.some((s) => s > 0)).sort((a, b) => Math.max(...b.by) - Math.max(...a.by));
  const names = rows.map((r) => rowName(r, page));
  const bars = rows.map((r, i) => el('div', { class: 'beside' },
    el('button', { type: 'button', click: () => show(r.run) }, names[i]!), el('span', { class: 'number' }, seconds(r.makespan_s)),
    shares(lines.map((l) => ({ name: `${l.text}, ${seconds(l.by[i]!)}`, colour: l.colour, value: l.by[i]! })), most, `parts of ${names[i]!}`)));
  const root = el('div', {}, el('p', { class: 'legend' }, ...lines.flatMap((l) => [dot(l.colour), `${l.text}  `])), ...bars);
  // Against the fastest: where the time that a run loses is.
  const others = rows.slice(1);
  if (others.length === 0) return root;
  for (const [k, r] of others.entries()) {
    const more = lines.map((l) => ({ text: l.text, s: l.by[k + 1]! - l.by[0]! })).filter((d) => d.s !== 0).sort((a, b) => Math.abs(b.s) - Math.abs(a.s));
    const all = r.makespan_s - rows[0]!.makespan_s;
    root.append(el('p', { class: 'difference' }, el('strong', {}, names[k + 1]!), `: ${signed(all)} against ${names[0]!}${all === 0 ? '' : ` (${percent(all / rows[0]!.makespan_s)})`}` +
      `${more.length === 0 ? '' : `, which is ${more.map((d) => `${signed(d.s)} ${d.text}`).join(', ')}`}.`));
  }
  const column = (title: string, csv: string, value: (l: Line) => number, text = seconds): Column<Line> => ({ title, csv, value, text: (l) => text(value(l)) });
  root.append(table<Line>([
    { title: 'part', value: (l) => l.text },
    ...rows.flatMap((_, i) => [column(names[i]!, `${names[i]!} s`, (l) => l.by[i]!), ...(i > 0 ? [column('more', `${names[i]!} more s`, (l) => l.by[i]! - l.by[0]!, signed)] : [])]),
  ], lines, { caption: `Parts of the makespan; "more" than on ${names[0]!}` }).root);
  return root;
}

export function partsBeside(page: Page, show: (run: number) => void): HTMLElement | null {
  const known = page.rows.filter((r) => r.slowdown !== null && page.runs[r.run]?.result.critical_path);
  if (known.length < 2) return null;
  const section = el('section', { id: 'parts' }, el('h2', {}, 'Parts side by side'));
  for (const trace of new Set(known.map((r) => r.trace))) {
    const all = known.filter((r) => r.trace === trace), rows = all.slice(0, kMostRuns);
    if (new Set(known.map((r) => r.trace)).size > 1) section.append(el('h3', {}, trace));
    section.append(group(rows, rows.map((r) => page.runs[r.run]!.result.critical_path!.parts), page, show));
    if (all.length > rows.length) section.append(el('p', { class: 'note' }, `The fastest ${kMostRuns} of ${all.length} runs.`));
  }
  section.append(el('p', { class: 'note' }, 'Along the critical path of each run: its parts add up to the time, and their differences to the difference. Parts that only change places ' +
    '(the path of one run leads through other ranks than that of another) show as more of one and less of another.'));
  return section;
}
