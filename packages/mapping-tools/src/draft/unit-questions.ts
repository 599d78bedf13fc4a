/** Questions about units of findings without a unit in a column or name, with the unit that the values suggest. */
import { matchUnit } from './match-units.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type DraftLine, decide, line, scalar } from './write-draft.ts'

/** Measurement of a code, and the unit in its name. */
export interface CodedAs {
  readonly key: string
  readonly unit: string | undefined
}

/**
 * Lines of `unit`: a table by code, from names and values. A code without a unit is missing from the table: its values are rejected until
 * somebody answers the question.
 *
 * @param path of the code
 * @param known codes with a rule
 * @param values code and value of each finding
 */
export function unitQuestions(
  path: string,
  known: ReadonlyMap<string, CodedAs>,
  values: readonly (readonly [code: string, value: string])[],
  numberOf: (text: string) => number | undefined,
  vocabulary: Vocabulary,
): DraftLine[] {
  const texts = Map.groupBy(values, ([code]) => code)
  const lines = [...known].map(([code, coded]) => {
    const filled = (texts.get(code) ?? []).flatMap(([, text]) => (text === '' ? [] : [text]))
    const numbers = filled.flatMap((text) => numberOf(text) ?? [])
    const earlier = coded.unit === undefined ? vocabulary.decided?.unitOf(path, code) : undefined
    const asked = unitQuestion(
      code,
      { ...coded, unit: earlier?.text ?? coded.unit },
      { filled, numbers },
      vocabulary,
    )
    return earlier === undefined || asked.yaml === undefined
      ? asked
      : line(asked.yaml, ask(`${earlier.file} has this unit. Is it right here?`))
  })
  const isEmpty = lines.every(({ yaml }) => yaml === undefined)
  return [
    line('  unit:'),
    line(`    from: ${scalar(path)}`),
    line(isEmpty ? '    table: {}' : '    table:', ask('no column has units; is each of these right?')),
    ...lines,
  ]
}

function unitQuestion(
  code: string,
  { key, unit: named }: CodedAs,
  values: { readonly filled: readonly string[]; readonly numbers: readonly number[] },
  vocabulary: Vocabulary,
): DraftLine {
  const entry = vocabulary.catalog.biometrics.get(key)
  const asked = (text: string): DraftLine => decide(`${JSON.stringify(code)}: ${text}`)
  const match = entry && matchUnit(key, entry, values, named, vocabulary)
  if (match?.kind === 'feet-and-inches')
    return asked('its values are feet and inches: write a separate rule with form: feet-and-inches.')
  if (entry === undefined || values.numbers.length === 0) return asked('which unit? It has no numbers here.')
  switch (match?.kind) {
    case 'found': {
      const unit = match.unit ?? entry.unit
      const alone = ask(`no unit is given; the values are plausible only in ${unit}`)
      return line(
        `      ${JSON.stringify(code)}: ${scalar(unit)}`,
        named === undefined ? (match.how ?? alone) : undefined,
      )
    }
    case 'unclear':
      return asked(`${match.units.join(' or ')}? Both would be plausible.`)
    case 'implausible':
      return asked(`which unit? Most values are implausible in ${match.unit}.`)
    default:
      return asked('which unit?')
  }
}
