/**
 * Judges the people of a chunk together: one reference is one person, with one birth date; and numbers too long for a spreadsheet do not all end in
 * zeros. Equal rows give an equal verdict, whatever was read before. Pure.
 */
import type { MappedRow, RejectedRow, RowOutcome } from '../model/entry.ts'
import type { AccountKey, Issue } from '../model/record.ts'
import type { Row } from '../model/row.ts'
import { createRoundedWatch } from '../transform/references.ts'

interface ReadRow {
  readonly source: Row
  readonly outcome: RowOutcome
}

interface JudgedPeople {
  readonly judged: readonly ReadRow[]
  /** People with several birth dates in their rows, each once. */
  readonly shared: readonly AccountKey[]
}

const SHARED: Issue = {
  stage: 'transform',
  code: 'reference-shared',
  message: 'rows of this reference give several birth dates: several people share the reference',
}

const ROUNDED: Issue = {
  stage: 'transform',
  code: 'account-damaged',
  message:
    'the reference of the person has only zeros after the 15th digit, like all long ones here: a spreadsheet rounded them',
}

export function judgePeople(rows: readonly ReadRow[]): JudgedPeople {
  const births = new Map<string, number>()
  const shared = new Map<string, AccountKey>()
  const rounded = createRoundedWatch()
  for (const { outcome } of rows) {
    if (outcome.outcome !== 'mapped') continue
    const { account, born } = outcome
    const { reference } = account
    rounded.add(reference)
    if (born === Number.NEGATIVE_INFINITY) continue
    const before = births.get(reference)
    if (before === undefined) births.set(reference, born)
    else if (before !== born) shared.set(reference, account)
  }
  if (shared.size === 0 && !rounded.isRounded()) return { judged: rows, shared: [] }
  const issueOf = ({ account: { reference } }: MappedRow): Issue | undefined =>
    shared.has(reference) ? SHARED : rounded.isRounded() && rounded.isLong(reference) ? ROUNDED : undefined
  const judged = rows.map((one): ReadRow => {
    const { source, outcome } = one
    const issue = outcome.outcome === 'mapped' ? issueOf(outcome) : undefined
    return issue === undefined || outcome.outcome !== 'mapped'
      ? one
      : { source, outcome: rejectedRow(outcome, issue) }
  })
  return { judged, shared: [...shared.values()] }
}

const rejectedRow = ({ row, line, byteOffset, account }: MappedRow, issue: Issue): RejectedRow => ({
  row,
  line,
  byteOffset,
  account,
  issue,
  outcome: 'rejected',
})
