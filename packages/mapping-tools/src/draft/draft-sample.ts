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
import {
  isWithin,
  keyOf,
  levelsAt,
  type Members,
  type Place,
  placesIn,
  type Trail,
  textsAt,
} from './json-places.ts'
import { type JsonShape, readShapes, shapeByNames } from './json-shapes.ts'
import type { Sample, SampleTable } from './read-sample.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Draft, type DraftLine, decide, note, step } from './write-draft.ts'

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
): DraftedSample {
  if (sample.kind === 'table') {
    const { table } = sample
    return { draft: draftTable(name, file, table, vocabulary), rows: { kind: 'table', table } }
  }
  const shapes = readShapes()
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

const MOST_COLUMNS = 300
/** Maximum number of lists tried as levels, and rows read for each. */
const MOST_LEVELS = 8
const LOOKED_AT = 500

const pathOf = (trail: Trail): string => `$${trail.map(step).join('')}`

/** Lists that are not inside another list. */
const outermost = (lists: readonly Place[]): Place[] =>
  lists.filter(({ trail }) => !lists.some((one) => one.trail !== trail && isWithin(trail, one.trail)))

/**
 * JSON of unknown shape as a table by paths. Includes XML as JSON: attributes and texts are members (`@unit`, `#text`; `$.unit`, `_`), and a
 * single element stands for a list, or every element is a list. Possible rows of documents: the elements of their longest list; otherwise each object around the list, innermost first, which may be a
 * list in another file.
 * @param documents of JSON files, one per file
 */
function jsonRows(documents: readonly JsonValue[]): readonly [JsonSample, ...JsonSample[]] {
  const lists = placesIn(documents).filter((one) => one.isList && one.holdsObject)
  const [longest, ...others] = outermost(lists).sort((a, b) => b.elements - a.elements)
  if (longest === undefined)
    return [{ read: { format: 'json' }, notes: [], rows: documents, wrap: (row) => row }]
  const { trail } = longest
  const [document = null] = documents
  const isBundle = membersOf(document)['resourceType'] === 'Bundle' && pathOf(trail) === '$.entry'
  const sampleAt = (to: Trail, note: string): JsonSample => ({
    read: { format: 'json', records: `${pathOf(to)}[*]` },
    notes: note === '' ? [] : [note],
    element: to.at(-1),
    rows: documents.flatMap((one) =>
      elements(to.reduce<JsonValue>((value, name) => membersOf(value)[name] ?? null, one)),
    ),
    wrap: (row) => to.reduceRight<JsonValue>((inner, name) => ({ [name]: inner }), row),
  })
  const otherLists = others.map((one) => pathOf(one.trail)).join(', ')
  const own = sampleAt(trail, otherLists === '' ? '' : `Other lists in the file: ${otherLists}.`)
  const around = trail.slice(0, -1).map((_, at) => {
    const to = trail.slice(0, at + 1)
    const alone = `DECIDE: ${pathOf(to)} occurs once in this file. Is it a row, and a list in files with several rows?`
    return sampleAt(to, alone)
  })
  const listed: JsonSample = { ...own, wrap: (row) => own.wrap([row]) }
  const ofBundle: JsonSample = {
    ...own,
    read: { format: 'json', records: '$.entry[*].resource' },
    rows: own.rows.flatMap((entry) => membersOf(entry)['resource'] ?? []),
    wrap: (row) => own.wrap([{ resource: row }]),
  }
  return [isBundle ? ofBundle : listed, ...around.reverse()]
}

const TEXT = /^(?:#text|_)$/
const ATTRIBUTE = /^@_?/
const ATTRIBUTES = '$'
const isXml = ({ trail }: Place): boolean =>
  TEXT.test(trail.at(-1) ?? '') || ATTRIBUTE.test(trail.at(-1) ?? '') || trail.at(-2) === ATTRIBUTES

/** True where each element is a list, as xml2js writes XML: a text stands alone only as an attribute, or beside attributes. */
const isOfLists = (places: readonly Place[]): boolean =>
  places.some(({ isList, holdsText }) => isList && holdsText) &&
  places.every((place) => !place.holdsText || place.isList || isXml(place))

/** Name of a member: a text is named after its element, an attribute after its element and itself. */
function calledAt(trail: Trail): string {
  const [last = '', above = ''] = trail.filter((name) => name !== ATTRIBUTES).toReversed()
  if (TEXT.test(last)) return above || last
  return ATTRIBUTE.test(last) || trail.at(-2) === ATTRIBUTES
    ? `${above} ${last.replace(ATTRIBUTE, '')}`.trim()
    : last
}

/** Builds the table. @param level list whose elements are the rows; if undefined, rows stay as they are */
function tableAt(sample: JsonSample, places: readonly Place[], level: Place | undefined) {
  const entered = places.filter(
    (one) =>
      level !== undefined &&
      one.trail.length > 0 &&
      isWithin(level.trail, one.trail) &&
      (one.isList || one === level),
  )
  const inside = places.filter((one) => one.isList && !entered.includes(one))
  const lone = isOfLists(places) ? inside.filter(({ longest }) => longest === 1) : []
  const levels = levelsAt(
    entered.map(({ trail }) => trail),
    new Set(lone.map(({ trail }) => keyOf(trail))),
  )
  const lists = inside.filter((one) => !lone.includes(one))
  const trails = places
    .filter(({ trail, holdsText }) => holdsText && !lists.some((list) => isWithin(trail, list.trail)))
    .map(({ trail }) => trail)
    .slice(0, MOST_COLUMNS)
  const columns = trails.map((trail) => ({
    path: levels.pathOf(trail),
    name: calledAt([sample.element ?? '', ...trail]),
  }))
  const others = outermost(lists)
    .slice(0, 20)
    .map(({ trail }) => `"${levels.pathOf(trail)}[*]"`)
  const note = `Lists within a row, possible levels (read.each): ${others.join(', ')}.`
  const rows = level === undefined ? sample.rows : sample.rows.slice(0, LOOKED_AT)
  const table = {
    read: level === undefined ? sample.read : { ...sample.read, each: levels.each },
    notes: [...sample.notes, ...(others.length === 0 ? [] : [note])],
    columns,
    rows: textsAt(
      rows,
      levels.each,
      columns.map(({ path }) => path),
    ),
    hasLevels: level !== undefined,
  }
  return { table, trails }
}

interface DraftedJson {
  readonly draft: Draft
  readonly sample: JsonSample
}

function foundIn({ draft: { found, persons, row } }: DraftedJson): number {
  const isAsked = row.some(({ key, open }) => key === 'row.account.reference' && open)
  return found.length + persons.size - (isAsked ? 1 : 0)
}

/**
 * Returns the draft with the most findings, over all places of rows and each list within as a level.
 *
 * @param before other drafts; they win ties
 */
function draftJsonTable(
  name: string,
  file: string,
  samples: readonly [JsonSample, ...JsonSample[]],
  vocabulary: Vocabulary,
  before: readonly DraftedJson[],
): DraftedJson {
  const drafted = samples.flatMap((sample) => {
    const places = placesIn(sample.rows)
    const draftOf = (level?: Place): DraftedJson => ({
      sample,
      draft: draftTable(name, file, tableAt(sample, places, level).table, vocabulary),
    })
    const plain = draftOf()
    const lone = plain.draft.finding && places.some(isXml) ? loneOf(plain, places) : undefined
    const lists = places
      .filter((one) => one.trail.length > 0 && one.isList && one.holdsObject)
      .sort((a, b) => b.elements - a.elements)
    return [lone === undefined ? plain : draftOf(lone), ...lists.slice(0, MOST_LEVELS).map(draftOf)]
  })
  return [...before, ...drafted].reduce((most, one) => (foundIn(one) > foundIn(most) ? one : most))
}

/** XML element with a finding that may be a list in another row. */
function loneOf({ draft, sample }: DraftedJson, places: readonly Place[]): Place | undefined {
  const { table, trails } = tableAt(sample, places, undefined)
  const [first = [], ...others] = trails.filter((_, at) => draft.coded.has(table.columns[at]?.path ?? ''))
  const isShared = (at: number): boolean => others.every((trail) => trail[at] === first[at])
  const apart = first.findIndex((_, at) => at === first.length - 1 || !isShared(at))
  return places.find(({ trail }) => apart > 0 && keyOf(trail) === keyOf(first.slice(0, apart)))
}
