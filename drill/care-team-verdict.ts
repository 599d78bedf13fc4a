/**
 * What accounts have of care teams in the end, against what the exports say: which entries stand, and who bears the mark. An entry is
 * another one where NPI, name, type or telephone differ; a physician is an NPI.
 */
import { entryOf } from './expected-records.ts'
import type { StoredRecord } from './gateway-store.ts'
import type { Blame, Evidence, Telling } from './verdict.ts'

interface CareTeams extends Pick<Evidence, 'stored' | 'changed' | 'ordered'> {
  readonly tellings: readonly Telling[]
  /** With what a wiped gateway need not have: it may have been sent again, and taken back again. */
  readonly all?: readonly Telling[]
}

export function judgeCareTeams(
  { tellings, all = tellings, stored, changed, ordered }: CareTeams,
  blame: Blame,
): void {
  const told = tellings.filter(({ record }) => record.kind === 'careTeam')
  const entries = stored.filter(({ kind }) => kind === 'careTeam')
  const storedOf = Map.groupBy(entries, ({ person }) => person)
  for (const [person, own] of Map.groupBy(told, ({ record }) => record.person)) {
    const there = storedOf.get(person) ?? []
    for (const [npi, ofPhysician] of Map.groupBy(own, ({ record }) => record.series))
      judgePhysician(
        `${npi} of ${person}`,
        ofPhysician,
        there.filter(({ text }) => npiOf(text) === npi),
        changed,
        ordered,
        blame,
      )
    const mayBeTakenBack = isTakenBack(all.filter(({ record }) => record.person === person))
    judgeMark(person, own, there, mayBeTakenBack, blame)
  }
}

const npiOf = (text: string): string => (JSON.parse(text) as { npi: string }).npi

/** The latest observation last; of one instant what was delivered last. */
const byTime = (tellings: readonly Telling[]): Telling[] =>
  tellings.toSorted((a, b) => a.record.observedMs - b.record.observedMs)

const isThrough = ({ said }: Telling): boolean => said === 'through'

/** The entries of one physician that an account has. */
function judgePhysician(
  who: string,
  tellings: readonly Telling[],
  there: readonly StoredRecord[],
  changed: CareTeams['changed'],
  ordered: boolean,
  blame: Blame,
): void {
  const found = new Map<string, number>()
  for (const { text } of there) found.set(entryOf(text), (found.get(entryOf(text)) ?? 0) + 1)
  for (const times of found.values())
    if (times > 1) blame('doubled', `${times} times a care-team entry: ${who}`)

  const through = tellings.filter(isThrough)
  if (through.length === 0) return
  const entryIn = ({ record }: Telling): string => entryOf(record.text)
  if (changed === 'add') {
    for (const entry of new Set(through.map(entryIn)))
      if (!found.has(entry)) blame('lost', `a care-team entry: ${who}`)
    return
  }
  // What was refused or is in doubt may, or may not, have taken its place; what is owed is not done yet.
  const isSure = ordered && through.length === tellings.length && !tellings.some(({ owed }) => owed)
  const last = byTime(tellings).at(-1)
  const newest = last === undefined ? '' : entryIn(last)
  const kept = changed === 'keep' ? 'one beside that which was to be kept' : 'one that was replaced'
  // An older entry is passed over for a newer one, also where the gateway then refuses that.
  if (there.length === 0 && (last === undefined || isThrough(last)))
    blame('lost', `the only care-team entry: ${who}`)
  else if (isSure && changed === 'replace' && !found.has(newest))
    blame('lost', `the newest care-team entry: ${who}`)
  else if (isSure && found.size > 1) blame('doubled', `${kept}: ${who}`)
}

/** Whether the physician who was called the primary one last is so no longer: then nobody need bear the mark. */
function isTakenBack(tellings: readonly Telling[]): boolean {
  const sorted = byTime(tellings.filter(({ record }) => record.kind === 'careTeam'))
  const called = sorted.findLast(({ record }) => record.primary)?.record
  return sorted.findLast(({ record }) => record.series === called?.series)?.record.primary === false
}

/**
 * The mark belongs to the physician who was said to be the primary one last. Where a later row takes that back, it must not stay
 * there; it may go to another whose last row calls him so.
 */
function judgeMark(
  person: string,
  tellings: readonly Telling[],
  there: readonly StoredRecord[],
  mayBeTakenBack: boolean,
  blame: Blame,
): void {
  if (tellings.some((one) => !isThrough(one) || one.owed)) return
  const marked = there.filter(({ primary }) => primary).map(({ text }) => npiOf(text))
  const sorted = byTime(tellings)
  const latest = new Map(sorted.map(({ record }) => [record.series, record]))
  const called = sorted.findLast(({ record }) => record.primary)?.record
  if (called !== undefined && latest.get(called.series)?.primary === true) {
    if (marked.length === 0 && mayBeTakenBack) return
    if (marked.length === 0) blame('marks', `${person} has no mark, and ${called.series} is the primary one`)
    else if (marked[0] !== called.series)
      blame('marks', `${person} has ${marked[0]} marked, and ${called.series} is the primary one`)
    return
  }
  for (const npi of marked)
    if (latest.get(npi)?.primary !== true)
      blame('marks', `${person} has ${npi} marked, who is no longer the primary one`)
}
