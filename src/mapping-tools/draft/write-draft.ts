/** The text of a drafted mapping: rules where it is certain, comments where somebody has to decide. */
import type { DateForms } from './find-dates.ts'

/** One line of a draft: YAML, a comment behind it, or a comment alone. */
export interface DraftLine {
  readonly yaml?: string | undefined
  readonly note?: string | undefined
}

/** A line with what is noted behind it. */
export const line = (yaml: string, ...notes: readonly (string | undefined)[]): DraftLine => {
  const told = notes.filter((one) => one !== undefined)
  return told.length === 0 ? { yaml } : { yaml, note: told.join('; ') }
}

export const note = (text: string): DraftLine => ({ note: text })

/** What somebody has to answer before the mapping is used. */
export const decide = (text: string): DraftLine => note(`DECIDE: ${text}`)

export const indent = ({ yaml, note: told }: DraftLine): DraftLine => ({
  yaml: yaml === undefined ? yaml : `  ${yaml}`,
  note: told,
})

const SAFE = /^[A-Za-z_$][A-Za-z0-9_$]*(?:[ ./-][A-Za-z0-9_$]+)*$/
const MEANS_SOMETHING_ELSE = /^(?:true|false|null|yes|no|on|off)$/i

/** A text as YAML takes it for a string, in a flow collection too; on one line, whatever stands in it. */
export const scalar = (text: string): string =>
  SAFE.test(text) && !MEANS_SOMETHING_ELSE.test(text) ? text : JSON.stringify(text)

export const list = (texts: readonly string[]): string => `[${texts.map(scalar).join(', ')}]`

/** A member, as a path goes on to it. */
export const step = (name: string): string =>
  /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `['${name.replaceAll(/[\\']/g, '\\$&')}']`

/** With every text in quotes, for words that YAML could take for something else. */
export const quoted = (texts: readonly string[]): string =>
  `[${texts.map((text) => JSON.stringify(text)).join(', ')}]`

/** A mapping before it is text. */
export interface Draft {
  readonly name: string
  /** The sample's file name. */
  readonly sample: string
  /** What kind of export it is, in words. */
  readonly kind: string
  readonly notes: readonly string[]
  /** Lines within `read`, `row` and the sections of rules. */
  readonly read: readonly string[]
  readonly row: readonly DraftLine[]
  readonly joins?: readonly DraftLine[]
  readonly biometrics: readonly DraftLine[]
  readonly conditions: readonly DraftLine[]
  readonly careTeams: readonly DraftLine[]
  /** Columns that nothing was made of. */
  readonly unused: readonly string[]
  /** Catalog keys of which there are rules, or of which codes occur. */
  readonly found: readonly string[]
  /** A row is one finding; else it is all of a visit. */
  readonly finding: boolean
  /** Columns or paths of measurements, codes, units, words for yes and no. */
  readonly coded: ReadonlySet<string>
  /** Of the person, by what it is: cases hold made-up texts there. */
  readonly persons: ReadonlyMap<string, string>
  /** Texts for genders that the mapping knows. */
  readonly genders: readonly string[]
  /** Columns or paths of dates that are read: cases hold made-up ones in the same forms. */
  readonly dates: ReadonlyMap<string, DateForms>
  /** Words for yes and no, which tell of nobody in whatever column they stand. */
  readonly yesOrNo: readonly string[]
}

/** Tells editors which schema a file follows. */
export const schemaLine = (schema: string): string => `# yaml-language-server: $schema=${schema}`

/** @param schema where an editor finds the JSON Schema of mappings, seen from the file */
export function draftText(draft: Draft, schema: string): string {
  const lines = [
    schemaLine(schema),
    `# Drafted from ${oneLine(draft.sample)}: ${draft.kind}. Lines with DECIDE need an answer before this is used.`,
    ...draft.notes.map((text) => `# ${oneLine(text)}`),
    `mapping: ${draft.name}`,
    ...(draft.read.length === 1
      ? [`read: { ${draft.read[0]} }`]
      : ['read:', ...draft.read.map((text) => `  ${text}`)]),
    '',
    'row:',
    ...draft.row.map(lineText),
    ...(['joins', 'biometrics', 'conditions', 'careTeams'] as const).flatMap((section) => {
      const rules = draft[section] ?? []
      // A section that has comments alone is none.
      const head = rules.some(({ yaml }) => yaml !== undefined) ? `${section}:` : `# ${section}:`
      return rules.length === 0 ? [] : ['', head, ...rules.map(lineText)]
    }),
  ]
  if (draft.unused.length > 0)
    lines.push('', ...wrapped(`Not mapped: ${draft.unused.map(oneLine).join(', ')}.`))
  return `${lines.join('\n')}\n`
}

function lineText({ yaml, note: told }: DraftLine): string {
  if (yaml === undefined) return `  # ${oneLine(told ?? '')}`
  return told === undefined ? `  ${yaml}` : `  ${yaml} # ${oneLine(told)}`
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

/** Names of columns can hold anything, a line end too, which would end the comment. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
