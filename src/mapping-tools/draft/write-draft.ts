/** The text of a drafted mapping: rules where it is certain, comments where somebody has to decide. */
import type { DateForms } from './find-dates.ts'
import type { DraftLine } from './sample.ts'

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
}

/** Tells editors which schema a file follows. */
export const schemaLine = (schema: string): string => `# yaml-language-server: $schema=${schema}`

/** @param schema where an editor finds the JSON Schema of mappings, seen from the file */
export function draftText(draft: Draft, schema: string): string {
  const lines = [
    schemaLine(schema),
    `# Drafted from ${oneLine(draft.sample)}: ${draft.kind}. Lines with DECIDE need an answer before this is used.`,
    ...draft.notes.map((note) => `# ${oneLine(note)}`),
    `mapping: ${draft.name}`,
    ...(draft.read.length === 1
      ? [`read: { ${draft.read[0]} }`]
      : ['read:', ...draft.read.map((line) => `  ${line}`)]),
    '',
    'row:',
    ...indented(draft.row),
    ...section('biometrics', draft.biometrics),
    ...section('conditions', draft.conditions),
    ...section('careTeams', draft.careTeams),
  ]
  if (draft.unused.length > 0)
    lines.push('', ...wrapped(`Not mapped: ${draft.unused.map(oneLine).join(', ')}.`))
  return `${lines.join('\n')}\n`
}

/** A section that has comments alone is none. */
function section(name: string, lines: readonly DraftLine[]): string[] {
  if (lines.length === 0) return []
  const head = lines.some(({ yaml }) => yaml !== undefined) ? `${name}:` : `# ${name}:`
  return ['', head, ...indented(lines)]
}

function indented(lines: readonly DraftLine[]): string[] {
  return lines.map(({ yaml, note }) => {
    if (yaml === undefined) return `  # ${oneLine(note ?? '')}`
    return note === undefined ? `  ${yaml}` : `  ${yaml} # ${oneLine(note)}`
  })
}

const WIDTH = 120

function wrapped(text: string): string[] {
  const lines: string[] = []
  let line = '#'
  for (const word of text.split(' ')) {
    if (line.length + word.length >= WIDTH) {
      lines.push(line)
      line = '#'
    }
    line += ` ${word}`
  }
  return [...lines, line]
}

/** Names of columns can hold anything, a line end too, which would end the comment. */
const oneLine = (text: string): string => text.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ')
