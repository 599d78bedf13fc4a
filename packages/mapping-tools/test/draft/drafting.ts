/** Drafts from small tables, with the shipped catalog and synonyms. */
import { join } from 'node:path'
import { readCatalogFiles, readSynonyms, resourcesOf } from '../../../../src/definitions/catalog-files.ts'
import type { JsonValue } from '../../../../src/model/row.ts'
import { ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { createVocabulary } from '../../src/draft/vocabulary.ts'
import { type Draft, draftText } from '../../src/draft/write-draft.ts'

const folder = join(ROOT, 'mappings')
const { catalog, units } = resourcesOf(await readCatalogFiles(folder, undefined))
export const vocabulary = createVocabulary(catalog, units, await readSynonyms(folder))

export interface Drafted {
  readonly draft: Draft
  readonly text: string
}

/** @param csv lines with commas, no quotes, the header first; a semicolon stands for a comma in a cell */
export function draftedMapping(csv: string): Drafted {
  const [header = '', ...lines] = csv.trim().split('\n')
  const columns = header.split(',').map((name) => ({ path: name, name }))
  const rows = lines.map((line) => line.split(',').map((cell) => cell.replace(';', ',')))
  const table = { read: { format: 'csv' }, notes: [], columns, rows }
  const { draft } = draftSample('tried', 'tried.csv', { kind: 'table', table }, vocabulary)
  return { draft, text: draftText(draft, 's.json') }
}

export function draftedJson(format: 'json' | 'ndjson', ...documents: readonly JsonValue[]): Drafted {
  const { draft } = draftSample('tried', 'tried.json', { kind: 'json', format, documents }, vocabulary)
  return { draft, text: draftText(draft, 's.json') }
}

/** @param results cells of records of one type, below the row of a person each */
export function draftedRecords(...results: readonly (readonly string[])[]): Drafted {
  const cells = Math.max(...results.map((one) => one.length))
  const types = [
    { name: 'PAT', above: undefined, cells: 2 },
    { name: 'RES', above: 'PAT', cells },
  ]
  const named = (texts: readonly string[]) =>
    Object.fromEntries(texts.map((text, at) => [`cell_${at + 1}`, text]))
  const documents = [{ cell_1: 'PAT', cell_2: 'p-1', RES: results.map(named) }]
  const sample = { kind: 'records', read: { format: 'records' }, notes: [], types, documents } as const
  const { draft } = draftSample('tried', 'tried.txt', sample, vocabulary)
  return { draft, text: draftText(draft, 's.txt') }
}

/** The lines of rules that were written, without notes. */
export const rules = ({ draft }: Drafted): string[] =>
  [...draft.biometrics, ...draft.conditions, ...draft.careTeams].flatMap(({ yaml }) => yaml ?? [])

export const notes = ({ draft }: Drafted): string[] =>
  [...draft.row, ...draft.biometrics, ...draft.conditions, ...draft.careTeams].flatMap(
    ({ note }) => note ?? [],
  )

export const NHANES_LIKE = `
id,Gender,Weight,BPSys,TotChol,Diabetes
1,male,71.2,118,5.10,No
2,female,64.0,NA,4.02,Yes
3,male,88.9,131,NA,No
`
