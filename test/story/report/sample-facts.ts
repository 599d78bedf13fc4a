/** Facts of runs that never were, for pages of every kind. */
import { allRecords, byKind, type RecordCounts } from '../../../src/model/balance.ts'
import type { DetailedExport, DetailedStory, WorkSpan } from '../../../src/story/run-story.ts'

export const records = (more: Partial<RecordCounts> = {}): RecordCounts => ({
  made: 0,
  accepted: 0,
  rejected: 0,
  unchanged: 0,
  inDoubt: 0,
  pending: 0,
  ...more,
})

/** Records that balance: made is the sum. */
export const made = (more: Partial<Omit<RecordCounts, 'made'>>): RecordCounts =>
  records({ ...more, made: Object.values(more).reduce((sum, count) => sum + count, 0) })

type Records = DetailedStory['summary']['records']

export const kinds = (more: Partial<Records> = {}): Records => ({
  ...byKind(() => records()),
  ...more,
})

/** Rows that balance: read is the sum. */
export const rows = (mapped: number, skipped: number, rejected: number) => ({
  read: mapped + skipped + rejected,
  mapped,
  skipped,
  rejected,
  corrected: 0,
})

export const RUN = '20260302T071500Z-4f2a9c'
export const BEGAN = Date.parse('2026-03-02T07:15:00Z')

/** A night as it mostly is. */
const NIGHT = {
  rows: rows(5373, 115, 22),
  records: kinds({
    biometric: made({ accepted: 65_842, rejected: 104, unchanged: 125 }),
    condition: made({ accepted: 2740, rejected: 1, unchanged: 5 }),
    careTeam: made({ accepted: 3402, rejected: 10, unchanged: 10 }),
  }),
}

export function summaryWith(more: Partial<DetailedStory['summary']> = {}): DetailedStory['summary'] {
  return {
    run: RUN,
    job: 'nightly-screenings',
    gateway: 'https://gateway.example/api',
    state: 'finished',
    balanced: true,
    ...NIGHT,
    warnings: [],
    leftOut: [],
    drift: [],
    exports: [],
    accounts: { registered: 4971, known: 390, refused: 5 },
    requests: { sent: 11_950, retried: 3, readBack: 0 },
    primaryCare: { marked: 3402, unmarked: 0, owed: 0 },
    careTeams: { replaced: 0, removed: 0, owed: 0, unjudged: 0 },
    files: {},
    startedAt: new Date(BEGAN).toISOString(),
    durationMs: 14_089,
    ...more,
  }
}

/** @param at tells exports apart */
export function exportWith(at: number, more: Partial<DetailedExport> = {}): DetailedExport {
  return {
    name: `acme_screening_${20260302 + at}.csv`,
    sha256: String(at).padStart(64, 'c19098cd'),
    rows: 100,
    state: 'finished',
    counts: {
      rows: rows(98, 1, 1),
      records: kinds({ biometric: made({ accepted: 90, rejected: 8 }) }),
      warnings: {},
      leftOut: {},
    },
    bytes: 1_482_113 + at,
    mappingDigest: '7d'.repeat(32),
    reading: 'whole',
    mapping: 'acme-onsite',
    ...more,
  }
}

/** So many chunks that share the time and the records evenly but for what is left over. */
export function workOf(
  summary: Pick<DetailedStory['summary'], 'rows' | 'records' | 'durationMs'>,
  chunks: number,
): WorkSpan[] {
  const all = allRecords(summary)
  const part = (count: number, at: number): number =>
    Math.floor((count * (at + 1)) / chunks) - Math.floor((count * at) / chunks)
  return Array.from({ length: chunks }, (_, at) => ({
    from: (at * summary.durationMs) / chunks,
    to: ((at + 1) * summary.durationMs) / chunks,
    paused: 0,
    rows: part(summary.rows.read, at),
    records: {
      made: part(all.made, at),
      accepted: part(all.accepted, at),
      rejected: part(all.rejected, at),
      unchanged: part(all.unchanged, at),
      inDoubt: part(all.inDoubt, at),
      pending: part(all.pending, at),
    },
  }))
}

export function factsWith(
  summary: Partial<DetailedStory['summary']> = {},
  more: Partial<Omit<DetailedStory, 'summary'>> = {},
): DetailedStory {
  const whole = summaryWith(summary)
  return {
    summary: whole,
    reasons: [],
    startedAt: BEGAN,
    endedAt: BEGAN + whole.durationMs,
    zone: undefined,
    exports: [],
    rowsInHand: 0,
    work: workOf(whole, 14),
    ...more,
  }
}
