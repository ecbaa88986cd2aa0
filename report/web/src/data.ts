// The object that the page shows: "weft.report/1". Keys of rows and results are those of `compare --json` and
// `replay --json`; docs/report.md lists the others.

import type { kKinds } from './colours';
import type { Packed } from './columns';

export interface Row {
  run: number; // index into Page.runs
  trace: string;
  platform: string;
  label?: string;
  map: string;
  routing: string;
  model: string;
  makespan_s: number;
  slowdown: number | null;
  hosts: number;
  switches: number;
  cables: number;
  links_per_host: number;
  mean_hops: number;
  worst_link: string | null;
  worst_link_utilization: number;
  most_waited_link: string | null;
  most_waited_s: number;
  why: string;
  changes?: string[];
  error?: string;
}

// A slowdown is null, too, where the fastest takes no time and this run some; of an error its first word tells.
export const isDeadlock = (r: Row) => r.error?.startsWith('deadlock') ?? false;

export interface RankTimes {
  rank: number;
  finish_s: number;
  compute_s: number;
  send_s: number;
  recv_s: number;
  wait_s: number;
  device_s?: number; // its accelerator worked
  collective_s: number;
  causes: Record<string, number>;
}

export interface LinkUse {
  name: string;
  class: string;
  bandwidth_Bps: number;
  bytes: number;
  busy_s: number;
  utilization: number;
  peak_flows: number;
  waited_s: number;
}

// Whose messages were in the way; twice the same rank: its copies over links.
export interface Rival { src: number; dst: number; contention_s: number }

export interface CriticalPath {
  parts: Record<string, number>;
  messages: number;
  bytes: number;
  by_region: { name: string | null; own_s: number; messages_s: number }[];
  by_link: { name: string; contention_s: number; messages: number }[];
  by_rank: { rank: number; own_s: number }[];
  by_kernel?: { name: string; compute_s: number }[];
  by_messages?: Rival[];
  copies: number;
  copied_bytes: number;
  segments_own: number;
}

export interface Sensitivity {
  // All null: a series of exchanges is on the path.
  dT_dL: number | null;
  dT_dL_link: number | null;
  dT_dG: number | null;
  dT_dcompute_s: number | null;
  dT_dbandwidth_s: number | null;
}

export interface Efficiency {
  parallel: number;
  load_balance: number;
  communication: number;
  serialisation: number;
  transfer: number;
  ideal_network_s: number;
  transfer_split?: { without: string; efficiency: number; makespan_s: number }[];
}

// One of several jobs that run beside each other: its ranks are those from first_rank.
export interface Job {
  trace: string;
  map: string;
  first_rank: number;
  ranks: number;
  hosts: number;
  makespan_s: number;
  alone_s: number;
  slowdown: number | null; // of a job that hangs
}

// Of all, a rank or a region; beside these a key "KIND_s" for each kind.
export interface WaitTimes { total_s: number; caused_direct_s: number; caused_propagated_s: number }
export interface WaitsOfRank extends WaitTimes { rank: number; longest_for: number | null }
export interface WaitsOfRegion extends WaitTimes { name: string | null }
export interface Delay { rank: number; region: string | null; what: 'communication' | 'computation'; direct_s: number; propagated_s: number }
// by_rank: not of too many ranks; delays: the costliest.
export interface WaitStates extends WaitTimes { waits: number; by_rank?: WaitsOfRank[]; by_region: WaitsOfRegion[]; delays: Delay[]; delays_total: number }

// What is null of a slope or a class has no end: that replay stops in a deadlock.
export interface Tolerance { ratio: number; latency_s: number | null; ends: boolean; replays: number }
export interface Slope { what: string; told_s: number | null; one_percent_more_s: number | null; one_percent_less_s: number | null; difference_s: number | null }
export interface FasterLinks { name: string; links: number; makespan_s: number | null; gain_s: number | null }
// Beside the slopes of Sensitivity, where replays were asked for (--sensitivity).
export interface WhatIf { latency_tolerance: Tolerance[]; slopes: Slope[]; twice_as_fast: FasterLinks[] }

export interface Result {
  trace: { name: string; ranks: number; ops: number; messages: number; bytes: number };
  platform: { name: string; label?: string; hosts: number; links: number; routing: string };
  changes: string[];
  model: Record<string, unknown> & { name: string; map: string; seed: number; assumed: string[] };
  makespan_s: number;
  fingerprint: string;
  network_messages: number;
  network_bytes: number;
  error?: { kind: string; message: string };
  ranks?: RankTimes[];
  regions: { name: string; count: number; total_s: number }[];
  links: LinkUse[];
  critical_path?: CriticalPath;
  sensitivity?: Sensitivity & Partial<WhatIf>;
  efficiency?: Efficiency;
  wait_states?: WaitStates;
  jobs?: Job[];
  shared_links?: { name: string; utilization: number; bytes: number; by_job: number[] }[] | null;
  warnings: string[];
}

// Spans of operations, messages and the critical path: report/html/timeline_section.hpp.
export interface TimelineData {
  ranks: number;
  tick_s: number;
  lanes: Record<'rank' | 'lane', Packed>; // of accelerators: whose spans come after those of ranks
  lane_names: string[];
  kinds: string[];
  groups: (keyof typeof kKinds)[];
  spans: Record<'first' | 'gap' | 'length' | 'kind' | 'ops' | 'peer' | 'amount', Packed>;
  operations: number;
  joined_below_s: number;
  messages: Record<'src' | 'dst' | 'sent' | 'arrived' | 'bytes', Packed>;
  messages_total: number;
  path: Record<'rank' | 'receiver' | 'from' | 'to' | 'part', Packed>;
  path_parts: string[];
  path_total: number;
}

export interface TrafficData {
  matrix: { blocks: number; per_block: number; bytes: Packed };
  heat?: { links: string[]; bins: number; bin_s: number; full: number; used: Packed };
  no_heat?: string;
}

// The network with the places that report/html/drawing.hpp gives its nodes.
export interface DrawingData {
  layout: 'rows' | 'roots' | 'groups' | 'grid' | 'springs';
  hosts: number;
  names: string[];
  links: string[];
  x: Packed; y: Packed; from: Packed; to: Packed; used: Packed; waited: Packed;
}

// HPL's panels: per_point of them are one point of each column.
type PanelColumn = 'end_s' | 'factor_s' | 'bcast_took_s' | 'bcast_waited_s' | 'pfact_s' | 'bcast_s' | 'swap_s' | 'update_s';
export interface PanelData { panels: number; per_point: number; columns: Record<PanelColumn, Packed>; none?: string }

export interface Run {
  name: string;
  result: Result;
  timeline?: TimelineData;
  traffic?: TrafficData;
  drawing?: DrawingData;
  panels?: PanelData;
}

export interface Page {
  schema: string;
  verb: string;
  command: string;
  version: string;
  answer: string[];
  rows: Row[];
  runs: Run[];
  warnings: string[];
  document?: unknown; // of other verbs: the object of their --json
}

export function readPage(): Page | null {
  const data: unknown = JSON.parse(document.getElementById('data')!.textContent!);
  return typeof data === 'object' ? (data as Page) : null;
}
