/** What `waybill schedule --explain` says of expected exports: what was found when they had to be there last, and the next time. */

import type { Job } from '../definitions/definition-files.ts'
import type { Expectation } from '../definitions/export-definition.ts'
import { watchedSources } from '../expect/assess.ts'
import type { DeadlineRecord, DeadlineState, ExpectationKey, Ledger } from '../ledger/ledger.ts'
import { firesAfter } from '../schedule/fires.ts'
import { localTime, utcTime } from '../schedule/local-time.ts'
import { fittedTable } from './plain-table.ts'

export interface ExplainedExpectation {
  readonly key: ExpectationKey
  readonly expect: Expectation
  /** Undefined where nobody has looked yet. */
  readonly last: DeadlineRecord | undefined
  readonly next: number
}

export async function explainExpectations(
  ledger: Ledger | undefined,
  job: Job,
  now: number,
): Promise<ExplainedExpectation[]> {
  return Promise.all(
    watchedSources(job).map(async ({ key, expect }) => ({
      key,
      expect,
      last: (await ledger?.expectations.judged(key))?.[0],
      next: firesAfter({ cron: expect.by, zone: expect.zone }, now).next().value,
    })),
  )
}

const WORDS: Readonly<Record<DeadlineState, string>> = {
  seen: 'seen for the first time, not told',
  arrived: 'arrived',
  late: 'arrived, late',
  missing: 'missing',
  unreachable: 'nobody could look',
}

/** @param columns of the terminal; undefined: nothing is fitted to a width */
export function expectationsTable(
  expectations: readonly ExplainedExpectation[],
  columns: number | undefined,
): string[] {
  const rows: string[][] = []
  for (const { key, expect, last, next } of expectations) {
    if (last !== undefined) {
      const small = last.small === 0 ? '' : `, ${last.small} strangely small`
      const count = last.state === 'unreachable' ? '' : ` (${last.arrived} of ${last.expected}${small})`
      rows.push([...times(last.due, expect), key.source, `${WORDS[last.state]}${count}`])
    }
    rows.push([...times(next, expect), key.source, ''])
  }
  return fittedTable(['expected by', 'UTC', 'exports', 'what was found'], rows, 'none', columns)
}

const times = (at: number, { zone }: Expectation): [string, string] => [localTime(at, zone), utcTime(at)]

export const expectationJson = ({ key, expect, last, next }: ExplainedExpectation): object => ({
  source: key.source,
  mapping: key.mapping,
  by: expect.by,
  zone: expect.zone,
  last: last && {
    due: new Date(last.due).toISOString(),
    local: localTime(last.due, expect.zone),
    judgedAt: new Date(last.judged_at).toISOString(),
    state: last.state,
    expected: last.expected,
    arrived: last.arrived,
    small: last.small,
  },
  next: { due: new Date(next).toISOString(), local: localTime(next, expect.zone) },
})
