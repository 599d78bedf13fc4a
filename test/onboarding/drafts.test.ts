/** Drafts of exports of invented vendors against the truth: a rule may be missing, and is then asked about, but never wrong. */
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import type { DraftLine } from '../../src/mapping-tools/draft/write-draft.ts'
import { draftedMapping, vocabulary } from '../mapping-tools/draft/drafting.ts'
import { inventVendors, SPELLINGS, type Vendor } from './vendors.ts'

const Unit = z.union([z.string(), z.object({ from: z.string() })])
const Rule = z.union([
  z.string().transform((from) => ({ from, unit: undefined })),
  z.object({ from: z.string(), unit: Unit.optional() }),
  z
    .object({ when: z.record(z.string(), z.unknown()) })
    .transform(({ when }) => ({ from: Object.keys(when)[0] ?? '', unit: undefined })),
])

/** The rules of a draft that nothing is asked of, as texts: column, key, unit. */
const settled = (lines: readonly DraftLine[]): string[] =>
  lines.flatMap(({ yaml, note }) => {
    if (yaml === undefined || note?.includes('DECIDE')) return []
    const [[key, written] = ['', '']] = Object.entries(z.record(z.string(), Rule).parse(parse(yaml)))
    return typeof written === 'string' ? [] : [told(written.from, key, written.unit)]
  })

const told = (column: string, key: string, unit: z.infer<typeof Unit> | undefined): string => {
  const canonical = vocabulary.catalog.biometrics.get(key)?.unit ?? ''
  const spelled = unit === undefined || unit === '' ? canonical : unit
  return `${column} is ${key} in ${typeof spelled === 'string' ? vocabulary.units.resolve(spelled) : spelled.from}`
}

function counted({ name, csv, truth }: Vendor) {
  const { draft, text } = draftedMapping(csv)
  const asked = text.split('\n').filter((one) => one.includes('DECIDE'))
  const rules = settled([...draft.biometrics, ...draft.conditions])
  const true_ = [...truth].map(([column, { key, unit }]) => told(column, key, unit))
  const right = rules.filter((rule) => true_.includes(rule))
  const wrong = rules.filter((rule) => !true_.includes(rule)).map((rule) => `${name}: ${rule}`)
  const missing = [...truth.keys()].filter(
    (column) => !right.some((rule) => rule.startsWith(`${column} is `)),
  )
  const silent = missing.filter((column) => !asked.some((one) => one.includes(column)))
  return { right, wrong, missing, silent: silent.map((column) => `${name}: ${column}`) }
}

test('no rule of a draft is wrong', () => {
  const vendors = inventVendors(20, 20260302)
  const counts = vendors.map(counted)
  const right = counts.flatMap((one) => one.right)
  const missing = counts.flatMap((one) => one.missing)
  process.stdout.write(
    `${vendors.length} vendors, ${SPELLINGS} headers: ${right.length} right, ${missing.length} asked about\n`,
  )
  expect(counts.flatMap((one) => one.wrong)).toEqual([])
  expect(counts.flatMap((one) => one.silent)).toEqual([])
  // A draft that asks about everything is of no use.
  expect(right.length).toBeGreaterThan(3 * missing.length)
})
