/**
 * Earlier decisions: answers to the draft's questions from mappings of the folder with the same headings. Each proposal names its file and
 * stays a question. Certain lines stay.
 */
import { parse, stringify } from 'yaml'
import type { MappingResources } from '../../../../src/transform/compile-context.ts'
import { compileInstant } from '../../../../src/transform/dates.ts'
import type { DraftedSample } from './draft-sample.ts'
import { MOST } from './profile-columns.ts'
import type { SampleTable } from './read-sample.ts'
import type { DecidedCodes } from './vocabulary.ts'
import { type DraftLine, keyed, line, note } from './write-draft.ts'

/** Mapping of the folder without open decisions. */
export interface EarlierMapping {
  readonly file: string
  readonly text: string
  /** Columns or paths, with their keys. */
  readonly reads: readonly { readonly name: string; readonly place: { readonly key?: string } }[]
  readonly tables: MappingResources['tables']
}

const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
const at = (value: unknown, ...path: readonly string[]): unknown =>
  path.reduce<unknown>((found, key) => membersOf(found)[key], value)

export function decidedCodes(mappings: readonly EarlierMapping[]): DecidedCodes {
  const fields = mappings.flatMap(({ file, text, tables }) =>
    [at(parse(text), 'biometrics')].flat().flatMap((rule) =>
      (['code', 'unit'] as const).map((part) => {
        const table = at(rule, part, 'table')
        const meanings =
          typeof table === 'string' ? tables.get(table) : new Map(Object.entries(membersOf(table)))
        return { file, part, column: at(rule, part, 'from'), meanings }
      }),
    ),
  )
  const find = (part: 'code' | 'unit') => (column: string, code: string) => {
    const field = fields.find((one) => one.part === part && one.column === column && one.meanings?.has(code))
    return field && { text: String(field.meanings?.get(code)), file: field.file }
  }
  return { codeOf: find('code'), unitOf: find('unit') }
}

/** Part of an earlier mapping whose columns are all in the sample. */
interface Proposal {
  readonly value: unknown
  readonly columns: readonly string[]
  readonly lines: readonly DraftLine[]
  /** True if the mapping shares the most headings. */
  readonly isOfNearest: boolean
}

/** Minimum number of headings shared with the sample. */
const FEWEST_SHARED = 2

const ROW_KEYS = [
  ...['row.key', 'row.account.reference', 'row.account.register'],
  ...['row.observedAt', 'row.skipWhen'],
]
const SECTIONS = ['biometrics', 'conditions', 'careTeams'] as const

export function withDecided(drafted: DraftedSample, mappings: readonly EarlierMapping[]): DraftedSample {
  const { draft, rows } = drafted
  const { unused, coded, persons, dates } = draft
  const headings = new Set(
    rows.kind === 'table'
      ? rows.table.columns.map(({ path }) => path)
      : [...unused, ...coded, ...persons.keys(), ...dates.keys()],
  )
  const shared = mappings
    .map((mapping) => ({
      ...mapping,
      written: parse(mapping.text) as unknown,
      count: new Set(mapping.reads.flatMap(({ name }) => (headings.has(name) ? [name] : []))).size,
    }))
    .filter(({ count }) => count >= FEWEST_SHARED)
    .sort((a, b) => b.count - a.count)
  const proposalFor = (key: string): Proposal | undefined => {
    for (const { file, written, reads } of shared) {
      const value = at(written, ...key.split('.'))
      const columns = reads
        .filter(({ place }) => `${place.key}.`.replace('[', '.').startsWith(`${key}.`))
        .map(({ name }) => name)
      if (value === undefined || columns.length === 0 || !columns.every((name) => headings.has(name)))
        continue
      return { value, columns, lines: linesOf(key, value, file), isOfNearest: file === shared[0]?.file }
    }
    return undefined
  }
  const taken = new Set<string>()
  let row = draft.row
  for (const key of ROW_KEYS) {
    const proposal = proposalFor(key)
    if (proposal === undefined) continue
    if (key === 'row.observedAt' && rows.kind === 'table' && !readsDates(rows.table, proposal)) continue
    const own = row.filter((one) => one.key === key)
    const isNew = key === 'row.skipWhen' && own.length === 0 && proposal.isOfNearest
    if (!isNew && !own.some(({ open }) => open)) continue
    row = replaced(row, (one) => one.key === key && (one.open || one.yaml !== undefined), proposal.lines)
    for (const column of proposal.columns) taken.add(column)
  }
  // A column proposed as the person for want of a better one is free again.
  const isGuess = draft.row.some(({ key, open }) => key === 'row.account.reference' && open)
  const person = isGuess ? proposalFor('row.account.reference')?.columns : undefined
  const guessed = [...persons].flatMap(([name, part]) =>
    part === 'reference' && person?.includes(name) === false ? [name] : [],
  )
  const free = new Set([...guessed, ...unused].filter((name) => !taken.has(name)))
  const [measured, found] = [new Set<string>(), new Set(draft.found)]
  const sections = SECTIONS.map((section) => {
    let lines = draft[section]
    for (const name of new Set(
      shared.flatMap(({ written }) => Object.keys(membersOf(at(written, section)))),
    )) {
      const proposal = proposalFor(`${section}.${name}`)
      if (proposal === undefined) continue
      lines = withRule(lines, `${section}.${name}`, proposal, free)
      if (!proposal.lines.every((one) => lines.includes(one))) continue
      for (const column of proposal.columns) (section === 'careTeams' ? taken : measured).add(column)
      if (section !== 'careTeams') found.add(String(at(proposal.value, 'catalog') ?? name))
    }
    return [section, lines] as const
  })
  return {
    rows,
    draft: {
      ...draft,
      ...Object.fromEntries(sections),
      row,
      found: [...found],
      coded: new Set([...coded, ...measured]),
      persons: new Map([...persons].filter(([name]) => !guessed.includes(name))),
      unused: [...guessed, ...unused].filter((name) => !taken.has(name) && !measured.has(name)),
    },
  }
}

function linesOf(key: string, value: unknown, file: string): DraftLine[] {
  const asked = { ask: `${file} has this line for the same headings. Is it right here?` }
  const path = key.split('.')
  const name = `${'  '.repeat(path.length - 2)}${path.at(-1)}`
  const flow = (part: unknown): string => stringify(part, { collectionStyle: 'flow', lineWidth: 0 }).trim()
  if (key !== 'row.account.register') return keyed(key, [line(`${name}: ${flow(value)}`, asked)])
  const parts = Object.entries(membersOf(value)).map(([part, its]) => line(`    ${part}: ${flow(its)}`))
  return keyed(key, [line(`${name}:`, asked), ...parts])
}

/** Replaces lines, at the place of the first; appends if there is none. */
function replaced(
  lines: readonly DraftLine[],
  isReplaced: (one: DraftLine) => boolean | undefined,
  by: readonly DraftLine[],
): DraftLine[] {
  const first = lines.findIndex(isReplaced)
  const before = first === -1 ? lines : lines.slice(0, first)
  return [...before, ...by, ...lines.slice(before.length).filter((one) => !isReplaced(one))]
}

/** A proposed rule replaces questions about it. Beside certain rules, the proposal is a question of its own. */
function withRule(
  lines: readonly DraftLine[],
  key: string,
  { columns, lines: proposed }: Proposal,
  free: Set<string>,
): readonly DraftLine[] {
  const isOwn = (one: DraftLine): boolean =>
    one.yaml === undefined
      ? one.open === true && columns.some((column) => one.columns?.includes(column))
      : one.key === key
  const own = lines.filter(isOwn)
  // Rules of a list have no keys.
  const isCertain = lines.some(
    (one) => one.yaml !== undefined && (one.key === undefined || (isOwn(one) && !one.open)),
  )
  const isFree = columns.every((column) => free.has(column))
  if ((isCertain || own.length === 0) && !isFree) return lines
  if (isCertain) return [...lines, ...proposed.map(({ yaml, note: question }) => note(`${question} ${yaml}`))]
  // For a column with two pressures, both rules are proposed.
  for (const column of own.flatMap((one) => one.columns ?? [])) free.add(column)
  return replaced(lines, isOwn, proposed)
}

/** True if the forms of a date read most cells of its columns. */
function readsDates({ columns, rows }: SampleTable, { value, columns: names }: Proposal): boolean {
  const format = [at(value, 'format')].flat().map(String)
  const parse = compileInstant(format)
  const places = names.map((name) => columns.findIndex(({ path }) => path === name))
  const joint = String(at(value, 'separator') ?? '')
  const cells = rows.map((row) => places.flatMap((place) => row[place]?.trim() || []).join(joint))
  const filled = cells.filter((cell) => cell !== '')
  return filled.filter((cell) => parse(cell).ok).length >= filled.length * MOST
}
