// What links carry when, as a heat map, and who sends how much to whom, as a matrix.
import { ticks } from 'd3-array';
import { amountLegend } from '../amounts';
import { largest, unpack } from '../columns';
import type { Run } from '../data';
import { el } from '../dom';
import { bytes, percent, seconds } from '../format';
import { pixelGrid } from '../pixels';
import type { Choice, Section } from '../section';

export const heat: Section = {
  id: 'heat',
  title: 'Links over time',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    if (!run.traffic) return false;
    const h = run.traffic.heat;
    if (!h) {
      box.append(el('p', {}, `No heat map: ${run.traffic.no_heat ?? 'nothing is known'}.`));
      return true;
    }
    if (h.links.length === 0) return false;
    void unpack(h.used).then((used) => {
      const most = Math.max(1, largest(used));
      const share = (column: number, row: number) => used[row * h.bins + column]!;
      const grid = pixelGrid({
        columns: h.bins, rows: h.links.length,
        value: (c, r) => Math.round((255 * share(c, r)) / most),
        rowName: (r) => h.links[r]!,
        tell: (c, r) => `${h.links[r]!}: ${percent((share(c, r) / 255) * h.full)} used from ${seconds(c * h.bin_s)} to ${seconds((c + 1) * h.bin_s)}`,
        choose: (_, r) => choice.link(h.links[r]!),
        chosenRow: () => {
          const row = choice.chosen.link === null ? -1 : h.links.indexOf(choice.chosen.link);
          return row < 0 ? null : row;
        },
        axis: (g, left, width) => {
          const whole = h.bins * h.bin_s;
          for (const t of ticks(0, whole, Math.max(2, width / 120)))
            g.fillText(seconds(t), Math.max(left + 12, Math.min(left + (t / whole) * width, left + width - 24)), 12);
        },
      }, 'use of links over time', [170, 170], 12, 64 * 12);
      choice.onChange(grid.redraw);
      box.append(amountLegend('0 %', `${percent((most / 255) * h.full)} of the bandwidth used`), ...grid.nodes,
        el('p', { class: 'note' }, `The ${h.links.length} links used most, ${seconds(h.bin_s)} a column. The bytes of a message are spread evenly between the ` +
          'instants at which its data leave and at which all have come; where flows share links, what would be more than the bandwidth is in the nearest columns with room.'));
    });
    return true;
  },
};

export const matrix: Section = {
  id: 'matrix',
  title: 'Who sends to whom',
  draw(box: HTMLElement, run: Run, choice: Choice): boolean {
    const m = run.traffic?.matrix;
    if (!m || m.blocks === 0) return false;
    void unpack(m.bytes).then((sent) => {
      const most = largest(sent);
      if (most === 0) {
        box.append(el('p', {}, 'Nobody sends anything.'));
        return;
      }
      // Logarithmic: a thousandth of the most still shows.
      const value = (b: number) => (b <= 0 ? 0 : Math.max(16, Math.round(255 * (1 + Math.log10(b / most) / 4))));
      const name = (block: number) => {
        const first = block * m.per_block, last = Math.min(first + m.per_block, run.result.trace.ranks) - 1;
        return last > first ? `${first}-${last}` : String(first);
      };
      const grid = pixelGrid({
        columns: m.blocks, rows: m.blocks,
        value: (c, r) => value(sent[r * m.blocks + c]!),
        rowName: name,
        tell: (c, r) => `rank ${name(r)} sends ${bytes(sent[r * m.blocks + c]!)} to ${c === r && m.per_block === 1 ? 'itself' : name(c)}`,
        choose: (_, r) => choice.rank(r * m.per_block),
        chosenRow: () => (choice.chosen.rank === null ? null : Math.floor(choice.chosen.rank / m.per_block)),
        axis: (g, left, width) => {
          const every = Math.max(1, Math.ceil((m.blocks * 40) / width));
          for (let c = 0; c < m.blocks; c += every) g.fillText(name(c), left + ((c + 0.5) * width) / m.blocks, 12);
        },
      }, 'bytes by sender and receiver', [52, 120], 28, 560);
      grid.nodes[0]!.classList.add('square');
      choice.onChange(grid.redraw);
      box.append(amountLegend('little', `${bytes(most)} (logarithmic)`), ...grid.nodes,
        el('p', { class: 'note' }, 'A row a sender, a column a receiver; messages of collectives are among them.'));
    });
    return true;
  },
};
