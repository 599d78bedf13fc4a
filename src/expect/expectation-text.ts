/** What was expected, and what is there, in words and as JSON. Names, times, sizes and counts; no health data. */

import type { JobSource } from '../definitions/export-definition.ts'
import type { WaitingExport } from '../extract/arrival/verify-delivery.ts'
import type { SmallExport } from '../run/small-exports.ts'
import { localTime } from '../schedule/cron-line.ts'
import { counted, utcTime } from '../shown-text.ts'
import type { Assessment } from './assess.ts'
import type { ArrivedFile } from './judge.ts'

/** `0 of 1 export by Tue 2026-03-03 01:30 -05:00` */
export function countWords({ watched, deadline, arrived }: Assessment): string {
  const { count, zone } = watched.expect
  return `${arrived.length} of ${countOf(count)} by ${localTime(deadline.due, zone)}`
}

const countOf = (count: number): string => counted(count, 'export')

/** A line for each thing that is to be known of it. */
export function assessmentLines(assessment: Assessment): string[] {
  const { watched, deadline, arrived, small, waiting, latestDates, error } = assessment
  const { source, expect, key } = watched
  const line = (label: string, words: string): string => `${label.padEnd(9)}${words}`
  const since = localTime(deadline.previous, expect.zone)
  return [
    line('Expected', `${countOf(expect.count)} at least since ${since}, at ${key.source}`),
    line('Due', `${utcTime(deadline.due)} UTC (${localTime(deadline.due, expect.zone)})`),
    ...(error === undefined ? [] : [line('Because', `${error.code}: ${error.message}`)]),
    ...(error === undefined && arrived.length === 0 ? [line('Arrived', 'none')] : []),
    ...arrived.map((file) => line('Arrived', fileWords(file, expect.zone, deadline.due))),
    ...small.map((one) => line('Small', smallWords(one))),
    ...waiting.map((one) =>
      line('Waiting', `${one.delivery.name} is there, but ${waitingWords(one, source)}`),
    ),
    ...(latestDates.length === 0 ? [] : [line('Dates', `that came last: ${latestDates.join(', ')}`)]),
  ]
}

function fileWords({ name, bytes, modifiedAt }: ArrivedFile, zone: string, due: number): string {
  const late = modifiedAt > due ? ', late' : ''
  return `${name} (${bytesWords(bytes)}, of ${localTime(modifiedAt, zone)}${late})`
}

/** `a.csv has 12 bytes, usual are 1,000 bytes` */
export const smallWords = ({ name, bytes, usual }: Omit<SmallExport, 'modifiedAt'>): string =>
  `${name} has ${bytesWords(bytes)}, usual are ${bytesWords(usual)}`

const bytesWords = (bytes: number): string => counted(Math.round(bytes), 'byte')

function waitingWords(
  { delivery, lacks }: WaitingExport,
  { marker, checksum, stableForMs }: JobSource,
): string {
  const companion = (pattern = ''): string => pattern.replaceAll('{name}', delivery.name)
  const words = {
    rest: `it has changed in the last ${stableForMs / 1000} s`,
    marker: `its marker ${companion(marker)} is missing`,
    checksum: `its checksum file ${companion(checksum)} is missing`,
    manifest: 'no manifest names it',
  }
  return lacks.map((lack) => words[lack]).join(', ')
}

export const smallJson = ({ name, bytes, usual }: SmallExport) => ({ name, bytes, usual })

const instant = (at: number): string => new Date(at).toISOString()

/** For programs. */
export const assessmentJson = (assessment: Assessment) => {
  const { watched, deadline, at, state, arrived, small, waiting, latestDates, error } = assessment
  const { key, expect } = watched
  return {
    job: key.job,
    source: key.source,
    mapping: key.mapping,
    by: expect.by,
    zone: expect.zone,
    due: instant(deadline.due),
    local: localTime(deadline.due, expect.zone),
    since: instant(deadline.previous),
    next: instant(deadline.next),
    judgedAt: instant(at),
    state,
    expected: expect.count,
    arrived: arrived.map(({ name, bytes, modifiedAt }) => ({
      name,
      bytes,
      modifiedAt: instant(modifiedAt),
      late: modifiedAt > deadline.due,
    })),
    small: small.map(smallJson),
    incomplete: waiting.map(({ delivery, lacks }) => ({ name: delivery.name, lacks })),
    latestDates,
    ...(error === undefined ? {} : { error: error.code }),
  }
}
