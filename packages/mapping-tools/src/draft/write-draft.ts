/** Text of a drafted mapping: rules where the sample is clear, comments where somebody has to decide. */
import type { DateForms } from './find-dates.ts'

/** Line of a draft: YAML, a trailing comment, or both. */
export interface DraftLine {
  readonly yaml?: string | undefined
  readonly note?: string | undefined
  /** Key of the mapping that the line sets or asks about: `row.observedAt`, `biometrics.body-weight`. */
  readonly key?: string | undefined
  readonly columns?: readonly string[] | undefined
  readonly open?: boolean | undefined
}

export interface Question {
  readonly ask: string
}

/** Joins the parts of a question that apply. */
export function ask(...parts: readonly (string | false | undefined)[]): Question | undefined {
  const asked = parts.filter((part) => typeof part === 'string')
  return asked.length === 0 ? undefined : { ask: asked.join(' ') }
}

type Note = string | Question | undefined

function noted(notes: readonly Note[]): Pick<DraftLine, 'note' | 'open'> {
  const present = notes.filter((one) => one !== undefined)
  if (present.length === 0) return {}
  const text = present.map((one) => (typeof one === 'string' ? one : `DECIDE: ${one.ask}`)).join('; ')
  return present.some((one) => typeof one !== 'string') ? { note: text, open: true } : { note: text }
}

export const line = (yaml: string, ...notes: readonly Note[]): DraftLine => ({ yaml, ...noted(notes) })

export const note = (text: string): DraftLine => ({ note: text })

/** Question to answer before the mapping is used. */
export const decide = (text: string, columns?: readonly string[]): DraftLine => ({
  ...noted([{ ask: text }]),
  columns,
})

/** Assigns lines to a key of the mapping. */
export const keyed = (key: string, lines: readonly DraftLine[]): DraftLine[] =>
  lines.map((one) => ({ ...one, key }))

export const indent = (one: DraftLine): DraftLine =>
  one.yaml === undefined ? one : { ...one, yaml: `  ${one.yaml}` }

const SAFE = /^[A-Za-z_$][A-Za-z0-9_$]*(?:[ ./-][A-Za-z0-9_$]+)*$/
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off)$/i

/** Text that YAML reads as a string on a single line, even in a flow collection. */
export const scalar = (text: string): string =>
  SAFE.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text)

export const list = (texts: readonly string[]): string => `[${texts.map(scalar).join(', ')}]`

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`
  if (!isObject(value)) return typeof value === 'string' ? scalar(value) : String(value)
  return `{ ${members(value).join(', ')} }`
}

/** Members of a block, as `key: value`. */
export const members = (value: object): string[] =>
  Object.entries(value).flatMap(([key, inner]) =>
    inner === undefined ? [] : [`${scalar(key)}: ${flow(inner)}`],
  )

/** Step of a path to a member. */
export const step = (name: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `['${name.replaceAll(/[\\']/g, '\\$&')}']`

/** List with every text in quotes, for words that YAML could read as other values. */
export const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`

/** `read` block of a mapping. */
export type ReadBlock = Readonly<Record<string, unknown>>

/** Mapping before it becomes text. */
export interface Draft {
  readonly name: string
  readonly sample: string
  readonly kind: string
  readonly notes: readonly string[]
  readonly read: ReadBlock
  readonly row: readonly DraftLine[]
  readonly joins?: readonly DraftLine[]
  readonly biometrics: readonly DraftLine[]
  readonly conditions: readonly DraftLine[]
  readonly careTeams: readonly DraftLine[]
  readonly unused: readonly string[]
  readonly found: readonly string[]
  readonly finding: boolean
  /** Columns or paths of measurements, codes, units, words for yes and no. */
  readonly coded: ReadonlySet<string>
  /** Columns or paths of the person, by part; cases hold made-up texts there. */
  readonly persons: ReadonlyMap<string, string>
  readonly genders: readonly string[]
  /** Columns or paths of dates; cases hold made-up dates in the forms of the column. */
  readonly dates: ReadonlyMap<string, DateForms>
  readonly yesOrNo: readonly string[]
}

/** Line that names a file's schema for editors. */
export const schemaLine = (schema: string): string => `# yaml-language-server: $schema=${schema}`

/** Writes the draft. @param schema path of the JSON Schema of mappings, relative to the file */
export function draftText(draft: Draft, schema: string): string {
  const lines = [
    schemaLine(schema),
    `# Drafted from ${oneLine(draft.sample)}: ${draft.kind}. Answer the lines with DECIDE before using this mapping.`,
    ...draft.notes.map((text) => `# ${oneLine(text)}`),
    `mapping: ${scalar(draft.name)}`,
    ...readLines(draft.read),
    '',
    'row:',
    ...draft.row.map(lineText),
    ...(['joins', 'biometrics', 'conditions', 'careTeams'] as const).flatMap((section) => {
      const rules = draft[section] ?? []
      // A section with only comments is itself a comment.
      const head = rules.some(({ yaml }) => yaml !== undefined) ? `${section}:` : `# ${section}:`
      return rules.length === 0 ? [] : ['', head, ...rules.map(lineText)]
    }),
  ]
  if (draft.unused.length > 0)
    lines.push('', ...wrapped(`Not mapped: ${draft.unused.map(oneLine).join(', ')}.`))
  return `${lines.join('\n')}\n`
}

/** Writes long `types` and `each` as blocks. */
function readLines(read: ReadBlock): string[] {
  const lines = Object.entries(read).flatMap(([key, value]) => {
    if (value === undefined) return []
    const text = `${key}: ${flow(value)}`
    const isBlock = isObject(value) && !Array.isArray(value) && text.length > WIDTH
    return isBlock ? [`${key}:`, ...members(value).map((member) => `  ${member}`)] : [text]
  })
  return lines.length === 1 ? [`read: { ${lines[0]} }`] : ['read:', ...lines.map((text) => `  ${text}`)]
}

function lineText({ yaml, note: text }: DraftLine): string {
  if (yaml === undefined) return `  # ${oneLine(text ?? '')}`
  return text === undefined ? `  ${yaml}` : `  ${yaml} # ${oneLine(text)}`
}

const WIDTH = 120

function wrapped(text: string): string[] {
  const lines: string[] = []
  let current = '#'
  for (const word of text.split(' ')) {
    if (current.length + word.length >= WIDTH) {
      lines.push(current)
      current = '#'
    }
    current += ` ${word}`
  }
  return [...lines, current]
}

/** Column names can hold a line end, which would end the comment. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
