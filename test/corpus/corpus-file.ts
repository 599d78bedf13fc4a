/** Exports of the corpus, read here without Waybill's own reader. They have no quotes, so a line is its cells. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { ReferenceStore } from '../cli/reference-store.ts'
import { CORPUS } from '../needed.ts'

export const WITHOUT_CORPUS = CORPUS === undefined

export const corpusPath = (...path: string[]): string => join(CORPUS ?? '', ...path)

/** @throws Error where the file needs a real CSV reader */
export function readPlainCsv<Column extends string>(
  path: string,
  wanted: readonly Column[],
): Readonly<Record<Column, string>>[] {
  const text = readFileSync(path, 'utf8')
  if (text.includes('"')) throw new Error(`${path} has quotes`)
  const [header = '', ...lines] = text.split(/\r?\n/).filter((line) => line !== '')
  const columns = header.split(',')
  const positions = wanted.map((name) => [name, columns.indexOf(name)] as const)
  const lost = positions.filter(([, at]) => at < 0)
  if (lost.length > 0) throw new Error(`${path} has no ${lost.join(', ')}`)
  return lines.map((line) => {
    const cells = line.split(',')
    if (cells.length !== columns.length) throw new Error(`${path} has a row of another width`)
    return Object.fromEntries(positions.map(([name, at]) => [name, cells[at] ?? ''])) as Record<
      Column,
      string
    >
  })
}

const Measured = z.looseObject({
  account: z.object({ reference: z.string() }),
  code: z.string(),
  value: z.number(),
  unit: z.string(),
  observationDate: z.string(),
})

/** `person code instant value unit` of each biometric that the gateway stored, sorted. */
export const storedMeasurements = async (store: ReferenceStore): Promise<string[]> =>
  (await store.records('biometric'))
    .map((record) => Measured.parse(record))
    .map(({ account, code, value, unit, observationDate }) =>
      [account.reference, code, observationDate, value, unit].join(' '),
    )
    .sort()

const Diagnosed = z.looseObject({
  account: z.object({ reference: z.string() }),
  codes: z.array(z.object({ code: z.string(), codeSystemName: z.string() })),
  status: z.string(),
  observationDate: z.number(),
})

/** `person ICD-10-CM SNOMED instant status` of each condition that the gateway stored, sorted. */
export const storedConditions = async (store: ReferenceStore): Promise<string[]> =>
  (await store.records('condition'))
    .map((record) => Diagnosed.parse(record))
    .map(({ account, codes, status, observationDate }) =>
      [account.reference, ...codes.map(({ code }) => code), observationDate, status].join(' '),
    )
    .sort()

/** How often each occurs. */
export function tally(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return counts
}
