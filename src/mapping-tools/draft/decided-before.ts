/**
 * Earlier decisions: where a draft asks, it proposes what mappings of the folder say of the same headings, with the file that says so.
 * What the sample tells for certain stays, and each proposal is asked.
 */
import { parse, stringify } from 'yaml'
import type { MappingResources } from '../../transform/compile-context.ts'
import { compileInstant } from '../../transform/dates.ts'
import type { DraftedSample } from './draft-sample.ts'
import type { DecidedCodes } from './names.ts'
import { MOST } from './profile-columns.ts'
import type { SampleTable } from './read-sample.ts'
import { type DraftLine, line, note, scalar } from './write-draft.ts'

/** A mapping of which nothing is left to decide. */
export interface EarlierMapping {
  /** Name of its file, without folders. */
  readonly file: string
  readonly text: string
  /** Columns or paths, with the keys that read them. */
  readonly reads: readonly { readonly name: string; readonly place: { readonly key?: string } }[]
  readonly tables: MappingResources['tables']
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((found, key) => membersOf(found)[key], value)

export function decidedCodes(mappings: readonly EarlierMapping[]): DecidedCodes {
  const fields = mappings.flatMap(({ file, text, tables }) => {
    const rules = at(parse(text), 'biometrics')
    return (Array.isArray(rules) ? rules : []).flatMap((rule: unknown) =>
      (['code', 'unit'] as const).map((part) => {
        const table = at(rule, part, 'table')
        const told = typeof table === 'string' ? tables.get(table) : new Map(Object.entries(membersOf(table)))
        return { file, part, column: at(rule, part, 'from'), told }
      }),
    )
  })
  const find = (part: 'code' | 'unit') => (column: string, code: string) => {
    const field = fields.find((one) => one.part === part && one.column === column && one.told?.has(code))
    return field && { text: String(field.told?.get(code)), file: field.file }
  }
  return { codeOf: find('code'), unitOf: find('unit') }
}

/** A part of an earlier mapping whose columns the sample has, too. */
interface Piece {
  readonly value: unknown
  readonly columns: readonly string[]
  readonly yaml: string
  readonly asked: string
  /** It is of the mapping that shares the most headings. */
  readonly isOfNearest: boolean
}

/** Headings that a mapping must share with the sample for it to speak of the same. */
const FEWEST_SHARED = 2

export function withDecided(drafted: DraftedSample, mappings: readonly EarlierMapping[]): DraftedSample {
  const { draft, rows } = drafted
  const headings = new Set(
    rows.kind === 'table'
      ? rows.table.columns.map(({ path }) => path)
      : [...draft.unused, ...draft.coded, ...draft.persons.keys(), ...draft.dates.keys()],
  )
  const shared = mappings
    .map((mapping) => ({
      ...mapping,
      written: parse(mapping.text) as unknown,
      count: new Set(mapping.reads.flatMap(({ name }) => (headings.has(name) ? [name] : []))).size,
    }))
    .filter(({ count }) => count >= FEWEST_SHARED)
    .sort((a, b) => b.count - a.count)
  const piece = (...path: readonly string[]): Piece | undefined => {
    for (const { file, written, reads } of shared) {
      const value = at(written, ...path)
      const key = path.join('.')
      const isOf = ({ place }: (typeof reads)[number]): boolean =>
        `${place.key?.replace('[', '.')}.`.startsWith(`${key}.`)
      const columns = reads.filter(isOf).map(({ name }) => name)
      if (value === undefined || columns.length === 0 || !columns.every((name) => headings.has(name)))
        continue
      const yaml = stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trim()
      const asked = `DECIDE: ${file} says so of the same headings. Is it so here?`
      const isOfNearest = file === shared[0]?.file
      return { value, columns: [...new Set(columns)], yaml, asked, isOfNearest }
    }
    return undefined
  }
  /** Columns of proposals: those of measurements and conditions, of which cases keep values; and all. */
  const measured = new Set<string>()
  const taken = new Set<string>()
  const reads = (one: Piece): boolean => rows.kind === 'json' || readsDates(rows.table, one)
  const row = rowWith(draft.row, piece, reads, taken)
  // A column that was taken for the person, for want of another, is free again.
  const guessed = [...draft.persons].flatMap(([name, part]) =>
    part === 'reference' && !row.some(({ yaml }) => yaml === `  reference: ${scalar(name)}`) ? [name] : [],
  )
  const unused = [...guessed, ...draft.unused].filter((name) => !taken.has(name))
  const found: string[] = []
  const rules = (section: 'biometrics' | 'conditions' | 'careTeams'): readonly DraftLine[] => {
    let lines = draft[section]
    for (const name of new Set(
      shared.flatMap(({ written }) => Object.keys(membersOf(at(written, section)))),
    )) {
      const one = piece(section, name)
      const proposed = one && line(`${name}: ${one.yaml}`, one.asked)
      if (one === undefined || proposed === undefined) continue
      lines = withRule(lines, name, proposed, one.columns, unused)
      if (!lines.includes(proposed)) continue
      for (const column of one.columns) {
        taken.add(column)
        if (section !== 'careTeams') measured.add(column)
      }
      if (section !== 'careTeams') found.push(String(at(one.value, 'catalog') ?? name))
    }
    return lines
  }
  const sections = { biometrics: rules('biometrics'), conditions: rules('conditions') }
  return {
    rows,
    draft: {
      ...{ ...draft, ...sections, row, careTeams: rules('careTeams') },
      found: [...new Set([...draft.found, ...found])],
      coded: new Set([...draft.coded, ...measured]),
      persons: new Map([...draft.persons].filter(([name]) => !guessed.includes(name))),
      unused: unused.filter((name) => !taken.has(name)),
    },
  }
}

const isAsked = ({ note }: DraftLine): boolean => note?.includes('DECIDE') === true

/** A proposed rule goes in the place of the question about it; beside rules that are certain it is a question itself. */
function withRule(
  lines: readonly DraftLine[],
  name: string,
  proposed: DraftLine,
  columns: readonly string[],
  unused: readonly string[],
): readonly DraftLine[] {
  const isFree = columns.every((column) => unused.includes(column))
  const isQuestion = (told: string): boolean =>
    told.includes('DECIDE') && told.includes(name) && columns.some((column) => told.includes(scalar(column)))
  const isOwn = ({ yaml, note: told = '' }: DraftLine): boolean =>
    yaml === undefined ? isQuestion(told) : yaml.startsWith(`${name}: `)
  const first = lines.findIndex(isOwn)
  const isCertain = lines.some((one) => one.yaml !== undefined && isOwn(one) && !isAsked(one))
  if (isCertain || lines.some(({ yaml }) => yaml?.startsWith('- ') === true))
    return isFree ? [...lines, note([proposed.note, proposed.yaml].join(' '))] : lines
  if (first === -1) return isFree ? [...lines, proposed] : lines
  return [...lines.slice(0, first), proposed, ...lines.slice(first).filter((one) => !isOwn(one))]
}

function rowWith(
  before: readonly DraftLine[],
  piece: (...path: readonly string[]) => Piece | undefined,
  reads: (date: Piece) => boolean,
  taken: Set<string>,
): DraftLine[] {
  let row = [...before]
  /** Puts what was said in the place of lines, some of which ask. */
  const replace = (from: number, to: number, key: string, one: Piece | undefined): void => {
    if (one === undefined || from < 0 || !row.slice(from, to).some(isAsked)) return
    row = [...row.slice(0, from), line(`${key}: ${one.yaml}`, one.asked), ...row.slice(to)]
    for (const column of one.columns) taken.add(column)
  }
  const find = (key: string): number => row.findIndex(({ yaml }) => yaml?.startsWith(`${key}:`) === true)
  const reference = find('  reference')
  const isUnsure = reference >= 0 && row.slice(reference, reference + 1).some(isAsked)
  replace(reference, reference + 1, '  reference', piece('row', 'account', 'reference'))
  const key = piece('row', 'key')
  const keyAt = find('key')
  if (isUnsure && key !== undefined) row[keyAt] = line(`key: ${key.yaml}`, key.asked)
  const register = piece('row', 'account', 'register')
  const parts = row.filter(({ yaml }) => yaml?.startsWith('    '))
  if (register !== undefined && (parts.length === 0 || parts.some(isAsked))) {
    const isOfIt = ({ yaml, note: told }: DraftLine): boolean =>
      /^ {2}(?: |register)/.test(yaml ?? '') || told?.startsWith('To register people') === true
    row = row.filter((one) => !isOfIt(one))
    const written = Object.keys(membersOf(register.value)).map((part) =>
      line(`    ${part}: ${piece('row', 'account', 'register', part)?.yaml}`),
    )
    row.splice(find('  reference') + 1, 0, line('  register:', register.asked), ...written)
    for (const column of register.columns) taken.add(column)
  }
  const observed = find('observedAt')
  const date = piece('row', 'observedAt')
  const start = row.findLastIndex(
    (one, index) => index < observed && !(one.yaml === undefined && isAsked(one)),
  )
  if (date !== undefined && reads(date)) replace(start + 1, observed + 1, 'observedAt', date)
  const skip = row.findIndex(({ note }) => note?.includes('skipWhen:') === true)
  const left = piece('row', 'skipWhen')
  if (skip >= 0) replace(skip, skip + 1, 'skipWhen', left)
  else if (left?.isOfNearest === true) row.push(line(`skipWhen: ${left.yaml}`, left.asked))
  return row
}

/** Tells whether the forms of a date read most cells of its columns. */
function readsDates({ columns, rows }: SampleTable, { value, columns: names }: Piece): boolean {
  const format = at(value, 'format')
  const parse = compileInstant((Array.isArray(format) ? format : [format]).map(String))
  const places = names.map((name) => columns.findIndex(({ path }) => path === name))
  const joint = String(at(value, 'separator') ?? '')
  const cells = rows.map((row) => places.flatMap((place) => row[place]?.trim() || []).join(joint))
  const filled = cells.filter((cell) => cell !== '')
  return filled.filter((cell) => parse(cell).ok).length >= filled.length * MOST
}
