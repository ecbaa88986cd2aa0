// HPL: predictions with their parts and panel curve, and what tuning found.
import { beside } from '../beside';
import { curves } from '../curves';
import { copyText, el } from '../dom';
import { counted, flopRate, percent, seconds } from '../format';
import type { DocumentSection } from '../section';
import { table } from '../table';

interface Prediction {
  platform: string; label?: string; n: number; nb: number; p: number; q: number; config: Record<string, string | number | boolean>;
  time_s: number; gflops: number; efficiency: number; phases: Record<string, number>;
  closed_form: Record<string, number | null>; error_estimate: number | null;
  bcast?: { took_s: number; waited_s: number; hidden: number };
  device?: { busy_s: number; waited_s: number; overlap_s: number; hidden: number } | null;
  panel_curve?: { column: number; time_s: number; gflops: number; pfact_s: number; bcast_s: number; swap_s: number; update_s: number }[];
}
interface Spread { mean: number; stddev: number; least: number; most: number }
// A run over its seeds (--repeat).
interface SeedSpread {
  label: string; n: number; nb: number; p: number; q: number; bcast: string; depth: number; swap: string; seeds: number; gflops: Spread; time_s: Spread;
}
interface Tune { rows: Record<string, string | number | null>[]; candidates: number; hpl_dat_text: string }

const kPhases: [string, string, string][] = [
  ['update_s', 'update: multiplication and triangular solve', '#009E73'],
  ['swap_s', 'swap: row exchanges and U', '#E69F00'],
  ['bcast_s', 'broadcast: waiting for panels and sending them on', '#56B4E9'],
  ['pfact_s', 'panel factorisation', '#0072B2'],
  ['solve_s', 'solve: back substitution', '#CC79A7'],
];
const kMostRuns = 12;
const called = (r: Prediction) => r.label ?? r.platform;
const rate = (gflops: number) => flopRate(gflops * 1e9);
const runsOf = (document: unknown): Prediction[] => {
  const d = document as { runs?: Prediction[] } & Prediction;
  return d.runs ?? [d];
};

export const predictions: DocumentSection = {
  id: 'predictions',
  title: 'Predictions',
  draw(box: HTMLElement, document: unknown): boolean {
    const spread = (document as { seed_spread?: SeedSpread[] }).seed_spread;
    if (spread) {
      box.append(table<SeedSpread>([
        { title: 'platform', value: (s) => s.label },
        { title: 'N', value: (s) => s.n }, { title: 'NB', value: (s) => s.nb }, { title: 'P', value: (s) => s.p }, { title: 'Q', value: (s) => s.q },
        { title: 'bcast', value: (s) => s.bcast }, { title: 'depth', value: (s) => s.depth }, { title: 'swap', value: (s) => s.swap },
        { title: 'seeds', value: (s) => s.seeds },
        { title: 'mean time', csv: 'time_s', value: (s) => s.time_s.mean, text: (s) => seconds(s.time_s.mean) },
        { title: 'mean rate', csv: 'gflops', value: (s) => s.gflops.mean, text: (s) => rate(s.gflops.mean) },
        { title: 'scatter', csv: 'gflops_stddev', value: (s) => s.gflops.stddev, text: (s) => percent(s.gflops.stddev / s.gflops.mean) },
        { title: 'least', csv: 'gflops_least', value: (s) => s.gflops.least, text: (s) => rate(s.gflops.least) },
        { title: 'most', csv: 'gflops_most', value: (s) => s.gflops.most, text: (s) => rate(s.gflops.most) },
      ], spread, { caption: 'Each run over its seeds: mean, standard deviation and range' }).root);
    }
    box.append(table<Prediction>([
      { title: 'platform', value: called },
      { title: 'N', value: (r) => r.n }, { title: 'NB', value: (r) => r.nb }, { title: 'P', value: (r) => r.p }, { title: 'Q', value: (r) => r.q },
      { title: 'bcast', value: (r) => String(r.config['bcast']) }, { title: 'depth', value: (r) => Number(r.config['depth']) },
      { title: 'swap', value: (r) => String(r.config['swap']) },
      ...(spread ? [{ title: 'seed', value: (r: Prediction) => Number(r.config['seed']) }] : []),
      { title: 'time', csv: 'time_s', value: (r) => r.time_s, text: (r) => seconds(r.time_s) },
      { title: 'rate', csv: 'gflops', value: (r) => r.gflops, text: (r) => rate(r.gflops) },
      { title: 'of peak', csv: 'efficiency', value: (r) => r.efficiency, text: (r) => percent(r.efficiency) },
      { title: '+-', csv: 'error_estimate', value: (r) => r.error_estimate, text: (r) => (r.error_estimate === null ? '-' : percent(r.error_estimate)) },
    ], runsOf(document), { caption: 'By replay' }).root);
    return true;
  },
};

export const phases: DocumentSection = {
  id: 'phases',
  title: 'Phases',
  draw(box: HTMLElement, document: unknown): boolean {
    const all = runsOf(document), runs = all.slice(0, kMostRuns);
    // What tells a run from the others, or all of a single one.
    const differ = (value: (r: Prediction) => unknown) => runs.length === 1 || runs.some((r) => value(r) !== value(runs[0]!));
    const nameOf = (r: Prediction) => [differ(called) ? called(r) : '', differ((o) => o.n) ? `N ${r.n}` : '', differ((o) => o.nb) ? `NB ${r.nb}` : '',
      differ((o) => `${o.p} x ${o.q}`) ? `${r.p} x ${r.q}` : '', ...Object.keys(r.config).filter((k) => runs.length > 1 && differ((o) => o.config[k])).map((k) => `${k} ${r.config[k]}`)].filter((t) => t !== '').join(', ') || called(r);
    const rest = (r: Prediction) => Math.max(0, r.time_s - kPhases.reduce((a, [key]) => a + (r.phases[key] ?? 0), 0));
    box.append(beside(runs.map(nameOf), runs.map((r) => r.time_s),
      [...kPhases.map(([key, text, colour]) => ({ text, colour, by: runs.map((r) => r.phases[key] ?? 0) })), { text: 'other', colour: '#999999', by: runs.map(rest) }], 'Phases, mean over the ranks'));
    const [first] = runs;
    if (first && first.time_s > 0) {
      const update = first.phases['update_s'] ?? 0;
      box.append(el('p', { class: 'note' }, `No network makes ${nameOf(first)} shorter than its updates: ${seconds(update)}, ${percent(update / first.time_s)} of the time.`));
    }
    if (all.length > runs.length) box.append(el('p', { class: 'note' }, `The first ${kMostRuns} of ${all.length} predictions; the table has all.`));
    return true;
  },
};

export const panelCurve: DocumentSection = {
  id: 'panels',
  title: 'Panel curve',
  draw(box: HTMLElement, document: unknown): boolean {
    const run = runsOf(document)[0];
    const curve = run?.panel_curve;
    if (!run || !curve || curve.length < 2) return false;
    box.append(curves(curve.map((c) => c.column), [{ name: 'while these columns are factored', values: curve.map((c) => c.gflops) },
      { name: 'the whole run', values: curve.map(() => run.gflops) }],
    { label: 'column', text: (c) => String(c) }, { label: 'rate', text: rate }),
    el('h3', {}, 'Where the time of these columns goes'), curves(curve.map((c) => c.column), kPhases.flatMap(([key, name]) => {
      const values = curve.map((c) => c[key as 'update_s'] as number | undefined);
      return values.every((v) => v !== undefined) ? [{ name, values }] : [];
    }), { label: 'column', text: (c) => String(c) }, { label: 'time', text: seconds }));
    return true;
  },
};

export const hidden: DocumentSection = {
  id: 'look-ahead',
  title: 'Look-ahead',
  draw(box: HTMLElement, document: unknown): boolean {
    const runs = runsOf(document).filter((r) => r.bcast);
    if (runs.length === 0) return false;
    box.append(table<Prediction>([
      { title: 'platform', value: called }, { title: 'N', value: (r) => r.n }, { title: 'NB', value: (r) => r.nb }, { title: 'depth', value: (r) => Number(r.config['depth']) },
      { title: 'panels on their way', csv: 'took_s', value: (r) => r.bcast!.took_s, text: (r) => seconds(r.bcast!.took_s) },
      { title: 'waited for', csv: 'waited_s', value: (r) => r.bcast!.waited_s, text: (r) => seconds(r.bcast!.waited_s) },
      { title: 'hidden', value: (r) => r.bcast!.hidden, text: (r) => percent(r.bcast!.hidden) },
      ...(runs.some((r) => r.device) ? [
        { title: 'accelerators busy', csv: 'device_busy_s', value: (r: Prediction) => r.device?.busy_s ?? null, text: (r: Prediction) => (r.device ? seconds(r.device.busy_s) : '-') },
        { title: 'hidden behind them', csv: 'device_hidden', value: (r: Prediction) => r.device?.hidden ?? null, text: (r: Prediction) => (r.device ? percent(r.device.hidden) : '-') },
      ] : []),
    ], runs, { caption: 'Broadcasts of panels: from the first send to the last arrival, mean over the rows of processes, and the time that ranks stood still for them' }).root);
    return true;
  },
};

export const closedForms: DocumentSection = {
  id: 'closed-forms',
  title: 'Closed forms beside it',
  draw(box: HTMLElement, document: unknown): boolean {
    const names: Record<string, string> = { hpl_gflops: "HPL's own equation", mcl_gflops: 'layered', roofline_gflops: 'roofline', phases_gflops: 'phase model' };
    const rows = runsOf(document).flatMap((r) => Object.entries(names).filter(([k]) => typeof r.closed_form[k] === 'number')
      .map(([k, name]) => ({ platform: called(r), name, gflops: r.closed_form[k] as number, ratio: (r.closed_form[k] as number) / r.gflops })));
    if (rows.length === 0) return false;
    box.append(table([
      { title: 'platform', value: (r) => r.platform }, { title: 'closed form', value: (r) => r.name },
      { title: 'rate', csv: 'gflops', value: (r) => r.gflops, text: (r) => rate(r.gflops) },
      { title: 'to the replay', value: (r) => r.ratio, text: (r) => r.ratio.toFixed(3) },
    ], rows, { caption: 'Equations beside the simulation (docs/hpl.md)' }).root);
    return true;
  },
};

export const tuned: DocumentSection = {
  id: 'tuned',
  title: 'Parameters by rate',
  draw(box: HTMLElement, document: unknown): boolean {
    const { rows, candidates } = document as Tune;
    const keys = ['n', 'nb', 'p', 'q', 'pmap', 'bcast', 'depth', 'swap'];
    box.append(table<Tune['rows'][number]>([
      ...keys.map((k) => ({ title: k, value: (r: Tune['rows'][number]) => r[k] ?? null })),
      { title: 'rate', csv: 'gflops', value: (r) => r['gflops']!, text: (r) => rate(r['gflops'] as number) },
      { title: '+-', csv: 'error_estimate', value: (r) => r['error_estimate'] ?? null, text: (r) => (typeof r['error_estimate'] === 'number' ? percent(r['error_estimate']) : '-') },
      { title: 'round', value: (r) => r['round'] ?? null },
    ], rows, { caption: `What was tried, the most precise first, of these the fastest: ${rows.length} of ${counted(candidates, 'candidate')}`, most: 40 }).root);
    return true;
  },
};

export const hplDat: DocumentSection = {
  id: 'hpl-dat',
  title: 'The best HPL.dat',
  draw(box: HTMLElement, document: unknown): boolean {
    const text = (document as Tune).hpl_dat_text;
    const copy = el('button', { type: 'button', click: () => void copyText(text, copy) }, 'copy');
    box.append(copy, el('pre', {}, text));
    return true;
  },
};
