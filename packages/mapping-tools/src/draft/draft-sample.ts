/**
 * Drafts the mapping for a sample of any kind, with the rows of its cases. FHIR Bundles with a single patient each use the packaged mapping
 * (`mappings/fhir-bundle.yaml`), with questions from the sample.
 */

import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import type { JsonValue } from '../../../../src/model/row.ts'
import { shipped } from '../../../../src/system/shipped.ts'
import type { CodeSystem } from '../../../../src/transform/codes.ts'
import { elements, membersOf } from '../../../../src/transform/json-values.ts'
import { REGISTER } from '../../../../src/watch/column-names.ts'
import { systemCode } from './coded-rules.ts'
import { draftShape, type JsonSample } from './draft-json.ts'
import { draftRecords } from './draft-records.ts'
import { draftTable, lookedAt, sourceLine } from './draft-table.ts'
import { type Members, textsAt } from './json-places.ts'
import { type JsonShape, readShapes, shapeByNames } from './json-shapes.ts'
import { type DraftedJson, draftJsonTable, jsonRows } from './json-table.ts'
import type { Sample, SampleTable } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Draft, type DraftLine, decide, note } from './write-draft.ts'

export interface DraftedSample {
  readonly draft: Draft
  readonly rows:
    | { readonly kind: 'table'; readonly table: SampleTable }
    | { readonly kind: 'json'; readonly sample: Pick<JsonSample, 'rows' | 'wrap'> }
}

/** Drafts a mapping. @param file name of the sample, without folders */
export function draftSample(
  name: string,
  file: string,
  sample: Sample,
  vocabulary: Vocabulary,
  shapes: readonly JsonShape[] = readShapes(),
): DraftedSample {
  if (sample.kind === 'table') {
    const { table } = sample
    return { draft: draftTable(name, file, table, vocabulary), rows: { kind: 'table', table } }
  }
  const ofJson = (draft: Draft, rows: Pick<JsonSample, 'rows' | 'wrap'>): DraftedSample => ({
    draft,
    rows: { kind: 'json', sample: rows },
  })
  const rows = { rows: sample.documents, wrap: (row: JsonValue) => row }
  if (sample.kind === 'records') return ofJson(draftRecords(name, file, sample, vocabulary), rows)
  const whole: JsonSample = { ...rows, read: { format: sample.format }, notes: [] }
  const [within, ...around] = sample.format === 'json' ? jsonRows(sample.documents) : []
  // Shapes recognised by names alone, without a person.
  const nameless: DraftedJson[] = []
  for (const candidate of [whole, ...(within === undefined ? [] : [within])]) {
    if (candidate.rows.length > 0 && candidate.rows.every((one) => patientsOf(one).length === 1))
      return ofJson(draftBundle(name, file, candidate, vocabulary), candidate)
    const shape = shapeOf(candidate.rows, shapes, vocabulary)
    if (shape === undefined) continue
    const known = candidate.rows.filter(shape.recognises)
    const others = candidate.rows.length - known.length
    const more = others === 0 ? [] : [`${others} rows are something else.`]
    const kept = { ...candidate, rows: known, notes: [...candidate.notes, ...more] }
    const draft = draftShape(name, file, kept, shape, vocabulary)
    if (shape.ofOneResult === undefined || [...draft.persons.values()].includes('reference'))
      return ofJson(draft, kept)
    nameless.push({ draft, sample: kept })
  }
  const samples = [within ?? whole, ...around] as const
  const best = draftJsonTable(name, file, samples, vocabulary, nameless)
  return ofJson(best.draft, best.sample)
}

/** Shape of most rows. */
function shapeOf(
  rows: readonly JsonValue[],
  shapes: readonly JsonShape[],
  vocabulary: Vocabulary,
): JsonShape | undefined {
  const counted = shapes.map((shape) => ({ shape, count: rows.filter(shape.recognises).length }))
  const best = counted.reduce((most, one) => (one.count > most.count ? one : most))
  return best.count > 0 && best.count >= rows.length / 4 ? best.shape : shapeByNames(rows, vocabulary)
}

const FILE = shipped('mappings/fhir-bundle.yaml')

const Path = z.union([z.string(), z.object({ from: z.string() }).transform(({ from }) => from)])
const Shipped = z.object({
  read: z.object({ each: z.record(z.string(), z.string()) }),
  row: z.object({
    account: z.object({ reference: z.string(), register: z.record(z.enum(REGISTER), Path) }),
  }),
})

function patientsOf(document: JsonValue): Members[] {
  const { resourceType, entry = null } = membersOf(document)
  const resources = resourceType === 'Bundle' ? elements(entry).map((one) => membersOf(one)['resource']) : []
  return resources.map(membersOf).filter((one) => one['resourceType'] === 'Patient')
}

const IS_DATE = /(?:DateTime|Instant|Date|\.start|\.end|lastUpdated)$/

function draftBundle(name: string, file: string, sample: JsonSample, vocabulary: Vocabulary): Draft {
  const text = readFileSync(FILE, 'utf8')
  const { read, row } = Shipped.parse(parse(text))
  const { reference, register } = row.account
  const of = sectionsOf(text)
  const levels = Object.keys(read.each)
  const paths = [...text.matchAll(/(?<![\w$])(?:\$|[a-z]+)(?:\.\w+|\[[^\]]*\])+/g)]
    .map(([path]) => path)
    .filter((path) => ['$', ...levels].some((level) => path.startsWith(`${level}.`)))
  const texts = (at: readonly string[]): string[][] => textsAt(sample.rows, read.each, at)
  const dates = [...new Set([register.dateOfBirth, ...paths])].flatMap((path) => {
    const cells = IS_DATE.test(path)
      ? texts([path]).flatMap(([cell = '']) => (cell === '' ? [] : [cell]))
      : []
    const forms = vocabulary.findDates(cells, true)
    return forms === undefined ? [] : [[path, forms] as const]
  })
  /** Codes of elements with content at a place; for each, the first code in the catalog. */
  const coded = (
    system: CodeSystem,
    level: string,
    uri: string,
    holds: (value: string) => boolean,
    at: string,
  ) => {
    const codes = [...new Set(paths.filter((path) => path.startsWith(`${level}.`) && path.includes(uri)))]
    const chosen = texts([at, ...codes]).flatMap(([value = '', ...cells]) => {
      const filled = holds(value) ? cells.filter((cell) => cell !== '') : []
      return filled.find((code) => vocabulary.catalog.keyOf(system, code) !== undefined) ?? filled[0] ?? []
    })
    return systemCode('', system, chosen, vocabulary)
  }
  const isThere = (value: string): boolean => value !== ''
  const [snomed = ''] = paths.filter((path) => path.startsWith('condition.') && path.includes(SNOMED))
  const results = [
    coded('LOINC', 'observation', LOINC, isThere, 'observation.resource.valueQuantity.value'),
    coded('LOINC', 'component', LOINC, isThere, 'component.valueQuantity.value'),
  ]
  const diagnoses = [
    coded('SNOMED', 'condition', SNOMED, isThere, snomed),
    coded('ICD-10-CM', 'condition', ICD, (value) => value === '', snomed),
  ]
  const zoned = dates.every(([path, { offset }]) => offset || path === register.dateOfBirth)
  return {
    name,
    sample: file,
    notes: sample.notes,
    finding: true,
    unused: [],
    yesOrNo: [],
    kind: `FHIR Bundles of one patient each, read as mappings/fhir-bundle.yaml does; ${lookedAt(sample.rows.length)}`,
    read: { ...sample.read, each: read.each },
    row: [
      decide(
        `the patient id identifies the person.${identifiersIn(sample.rows)} Which of them do you use for people?`,
      ),
      ...(zoned
        ? []
        : [decide('which time zone, for days and for times without an offset? UTC is a placeholder.')]),
      ...of('row').filter(({ yaml }) => yaml?.startsWith('source:') !== true),
      sourceLine(name, 'ehr'),
    ],
    joins: of('joins'),
    biometrics: [...of('biometrics'), ...results.flatMap(({ notes }) => notes)],
    conditions: [...of('conditions'), ...diagnoses.flatMap(({ notes }) => notes)],
    careTeams: of('careTeams'),
    found: [...new Set([...results, ...diagnoses].flatMap(({ found }) => found))],
    coded: new Set(paths.filter((path) => dates.some(([date]) => date === path) || isCoded(path))),
    persons: new Map([[reference, 'reference'], ...REGISTER.map((part) => [register[part], part] as const)]),
    genders: ['female', 'male'],
    dates: new Map(dates),
  }
}

const LOINC = 'loinc.org'
const SNOMED = 'snomed.info/sct'
const ICD = 'icd-10-cm'

/** True for paths of measurements and codes, which cases keep. */
const isCoded = (path: string): boolean =>
  !path.startsWith('$.') && /(?:code|value|unit|comparator|status)$/.test(path)

/** Returns the lines of a section of the mapping, with the comments above. */
function sectionsOf(text: string): (name: string) => DraftLine[] {
  const sections = new Map<string, DraftLine[]>()
  let lines: DraftLine[] = []
  for (const written of text.split('\n')) {
    const [, key] = /^(\w+):/.exec(written) ?? []
    if (key !== undefined) {
      // Comments above a section belong to it.
      const comments = lines.splice(lines.findLastIndex(({ yaml }) => yaml !== undefined) + 1)
      lines = [...comments]
      sections.set(key, lines)
    } else if (written.trim() !== '')
      lines.push(/^ {0,2}#/.test(written) ? note(written.replace(/^ *# ?/, '')) : { yaml: written.slice(2) })
  }
  return (name) => sections.get(name) ?? []
}

const MOST_SYSTEMS = 5

function identifiersIn(documents: readonly JsonValue[]): string {
  const systems = documents
    .flatMap(patientsOf)
    .flatMap(({ identifier = null }) => elements(identifier).map((one) => membersOf(one)['system']))
  const named = [...new Set(systems.filter((one) => typeof one === 'string'))].slice(0, MOST_SYSTEMS)
  return named.length === 0 ? '' : ` Other identifiers: ${named.join(', ')}.`
}
