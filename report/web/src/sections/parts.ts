// What each run's makespan is made of along its critical path, side by side: why one is slower than another.
import { beside } from '../beside';
import { partOf } from '../colours';
import { isDeadlock, type Page } from '../data';
import { el } from '../dom';
import { rowName } from './ranking';

const kMostRuns = 12;

export function partsBeside(page: Page, show: (run: number) => void): HTMLElement | null {
  const known = page.rows.filter((r) => !isDeadlock(r) && page.runs[r.run]?.result.critical_path);
  if (known.length < 2) return null;
  const section = el('section', { id: 'parts' }, el('h2', {}, 'Parts side by side'));
  const traces = new Set(known.map((r) => r.trace));
  for (const trace of traces) {
    const all = known.filter((r) => r.trace === trace), rows = all.slice(0, kMostRuns); // the fastest first
    if (traces.size > 1) section.append(el('h3', {}, trace));
    const parts = rows.map((r) => page.runs[r.run]!.result.critical_path!.parts);
    section.append(beside(rows.map((r) => rowName(r, page)), rows.map((r) => r.makespan_s),
      Object.keys(parts[0]!).map((part) => ({ ...partOf(part), by: parts.map((p) => p[part] ?? 0) })), 'Parts of the makespan', (i) => show(rows[i]!.run)));
    if (all.length > rows.length) section.append(el('p', { class: 'note' }, `The fastest ${kMostRuns} of ${all.length} runs.`));
  }
  section.append(el('p', { class: 'note' }, 'Along the critical path of each run: its parts add up to the time, and their differences to the difference. Parts that only change places ' +
    '(the path of one run leads through other ranks than that of another) show as more of one and less of another.'));
  return section;
}
