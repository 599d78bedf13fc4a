/** Drafts of exports of invented vendors against the truth: a rule may be missing, and is then asked about, but never wrong. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import type { DraftLine } from '../../src/draft/write-draft.ts'
import { type Drafted, draftedMapping, vocabulary } from '../draft/drafting.ts'
import { SPELLINGS } from './spellings.ts'
import { inventVendors, type Vendor } from './vendors.ts'

const Unit = z.union([z.string(), z.object({ from: z.string() })])
const Rule = z.union([
  z.string().transform((from) => ({ from, unit: undefined })),
  z.object({ from: z.string(), unit: Unit.optional() }),
  z
    .object({ when: z.record(z.string(), z.unknown()) })
    .transform(({ when }) => ({ from: Object.keys(when)[0] ?? '', unit: undefined })),
])

/** Rule and question of a draft for a column. */
interface Told {
  readonly column: string
  readonly says: string
  readonly asked: boolean
}

const rulesOf = (lines: readonly DraftLine[]): Told[] =>
  lines.flatMap(({ yaml, note }) => {
    if (yaml === undefined) return []
    const [[key, written] = ['', '']] = Object.entries(z.record(z.string(), Rule).parse(parse(yaml)))
    if (typeof written === 'string') return []
    return [
      {
        column: written.from,
        says: measured(key, written.unit),
        asked: note?.includes('DECIDE') === true,
      },
    ]
  })

const measured = (key: string, unit: z.infer<typeof Unit> | undefined): string => {
  const canonical = vocabulary.catalog.biometrics.get(key)?.unit ?? ''
  const spelled = unit === undefined || unit === '' ? canonical : unit
  return `${key} in ${typeof spelled === 'string' ? vocabulary.units.resolve(spelled) : spelled.from}`
}

function personsOf({ draft, text }: Drafted): Told[] {
  const from = /^ {2}observedAt: (\{ from: .*\})$/m.exec(text)?.[1]
  const observed = from === undefined ? undefined : z.object({ from: z.string() }).parse(parse(from)).from
  const isAsked = (column: string, part: string): boolean =>
    draft.row.some(
      ({ yaml, note }) =>
        (yaml?.includes(`${part}:`) === true && note?.includes('DECIDE') === true) ||
        (part === 'observedAt' && note?.includes('contain the observation date') === true),
    ) && column !== ''
  return [...draft.persons, ...(observed === undefined ? [] : [[observed, 'observedAt'] as const])].map(
    ([column, part]) => ({ column, says: part, asked: isAsked(column, part) }),
  )
}

function counted({ name, csv, truth, persons, provider }: Vendor) {
  const drafted = draftedMapping(csv)
  const { draft, text } = drafted
  const true_ = new Map([
    ...[...truth].map(([column, { key, unit }]) => [column, measured(key, unit)] as const),
    ...persons,
  ])
  const told = [...rulesOf([...draft.biometrics, ...draft.conditions]), ...personsOf(drafted)]
  const isTrue = ({ column, says }: Told): boolean => true_.get(column) === says
  const marked = draft.careTeams.some(({ yaml }) => yaml?.includes('primary: true'))
  const missing = [...true_].filter(([column]) => !told.some((one) => one.column === column && isTrue(one)))
  // Missing parts of a person are named by meaning: the column can have any name.
  const mentions = text.split('\n').filter((line) => /DECIDE|would be needed|names physicians/.test(line))
  const isNamed = ([column, what]: readonly [string, string]): boolean =>
    draft.unused.includes(column) ||
    mentions.some((line) => line.includes(column) || line.includes(what === 'observedAt' ? 'observed' : what))
  return {
    right: told.filter(isTrue),
    wrong: [
      ...told
        .filter((one) => !isTrue(one) && !one.asked)
        .map(({ column, says }) => `${name}: ${column} is ${says}`),
      ...(marked && !provider.primary ? [`${name}: ${provider.npi} is primary`] : []),
    ],
    missing: missing.map(([column]) => column),
    silent: missing.filter((one) => !isNamed(one)).map(([column]) => `${name}: ${column}`),
  }
}

test('no rule of a draft is wrong, and little is missing', () => {
  const vendors = inventVendors(48, 20260302)
  const counts = vendors.map(counted)
  const right = counts.flatMap((one) => one.right)
  const missing = counts.flatMap((one) => one.missing)
  process.stdout.write(
    `${vendors.length} vendors, ${SPELLINGS} spellings: ${right.length} right (${right.filter(({ asked }) => asked).length} to be confirmed), ${missing.length} missing: ${missing.join(' | ')}\n`,
  )
  expect(counts.flatMap((one) => one.wrong)).toEqual([])
  expect(counts.flatMap((one) => one.silent)).toEqual([])
  // A draft that asks about everything is of no use.
  expect(right.length).toBeGreaterThan(20 * missing.length)
})
