/** What a comparison with the profiles has shown, for people. Fields and ids, no values. */

import type { Verified } from '../job/verify-run.ts'
import type { SampleSize } from '../job/verify-sample.ts'
import { n } from '../shown-text.ts'
import { plainTable } from './plain-table.ts'
import { KIND_NAMES } from './summary-text.ts'

/** Ids shown; --json lists more. */
const SHOWN = 20

export function verifiedText({ sample, seed, records, fields, listed }: Verified): string[] {
  const rows = Object.entries(KIND_NAMES).map(([kind, name]) => {
    const { equal, differs, hidden, missing } = records[kind as keyof typeof KIND_NAMES]
    return [name, ...[equal, differs, hidden, missing].map(n)]
  })
  const table = plainTable(['accepted, read back', 'equal', 'differs', 'not visible', 'missing'], rows)
  const lines = ['', `Verified: ${sampleText(sample, seed)}`, ...table]
  const different = Object.entries(fields).map(([field, count]) => `${field} ${count}`)
  if (different.length > 0) lines.push(`Fields that differ: ${different.join(', ')}`)
  for (const { transactionId, verdict, fields: which } of listed.slice(0, SHOWN))
    lines.push(`  ${transactionId} ${verdict}${which === undefined ? '' : ` (${which.join(', ')})`}`)
  if (listed.length > SHOWN) lines.push('  and more; --json lists up to 100')
  lines.push('Not visible: a newer record, or another of the same date, stands in its place.')
  return lines
}

function sampleText(sample: SampleSize, seed: string): string {
  switch (sample.kind) {
    case 'all':
      return 'everybody'
    case 'share':
      return `${sample.share * 100} % of the people, seed ${seed}`
    case 'people':
      return `${n(sample.people)} people, seed ${seed}`
  }
}
