/** The codes for female and male that stand in a column, as a table of a mapping. */
import type { ColumnProfile } from './profile-columns.ts'
import { type DraftLine, scalar } from './sample.ts'

const FEMALE = ['F', 'W', 'Female', 'Weiblich', 'Frau', 'Femme', 'Féminin', 'Femenino', 'Mujer']
const MALE = ['M', 'Male', 'Männlich', 'Maennlich', 'Mann', 'H', 'Homme', 'Masculin', 'Masculino', 'Hombre']

/** As it stands there, in capitals, and in small letters. */
const written = (words: readonly string[]): string[] =>
  words.flatMap((word) => [word, word.toUpperCase(), word.toLowerCase()])
const GENDERS = new Map<string, 'FEMALE' | 'MALE'>([
  ...written(FEMALE).map((word) => [word, 'FEMALE'] as const),
  ...written(MALE).map((word) => [word, 'MALE'] as const),
])
/** What the other sex is written as where only one occurs. */
const PARTNERS: readonly (readonly [string, string])[] = [
  ['F', 'M'],
  ['Female', 'Male'],
  ['Weiblich', 'Männlich'],
].flatMap(([female = '', male = '']) =>
  [...written([female])].map((word, at) => [word, written([male])[at] ?? ''] as const),
)

/** ISO/IEC 5218; its 0 and 9 say that it is not known, or does not apply. */
const ISO_5218: readonly (readonly [string, 'FEMALE' | 'MALE'])[] = [
  ['1', 'MALE'],
  ['2', 'FEMALE'],
]

/** The line of `register` for the gender. */
export function genderLine(column: ColumnProfile): DraftLine {
  const { codes, why } = codesOf(column)
  const known = new Set(codes.map(([code]) => code))
  const others = [...column.distinct].filter((text) => !known.has(text)).length
  const stand = others === 1 ? 'code stands' : 'codes stand'
  const left =
    known.size === 0 ? `which mean what? ${others} ${stand} there` : `${others} other ${stand} there too`
  const decide = [...(why === undefined ? [] : [why]), ...(others === 0 ? [] : [left])]
  const table = codes.map(([code, gender]) => `${scalar(code)}: ${gender}`).join(', ')
  return {
    yaml: `  gender: { from: ${scalar(column.path)}, table: { ${table} } }`,
    ...(decide.length === 0 ? {} : { note: `DECIDE: ${decide.join('; ')}` }),
  }
}

/** The texts that stand for female and male. */
export const genderCodes = (column: ColumnProfile | undefined): readonly string[] =>
  column === undefined ? [] : codesOf(column).codes.map(([code]) => code)

function codesOf({ distinct }: ColumnProfile): {
  readonly codes: readonly (readonly [string, 'FEMALE' | 'MALE'])[]
  readonly why?: string
} {
  const numbers = [...distinct].filter((text) => !/^[0129]$/.test(text)).length === 0
  if (numbers && distinct.size > 0)
    return { codes: ISO_5218, why: '1 is male and 2 female by ISO 5218; does the vendor count so?' }
  const found = [...distinct].flatMap((text) => {
    const gender = GENDERS.get(text)
    return gender === undefined ? [] : [[text, gender] as const]
  })
  const has = (text: string): boolean => found.some(([code]) => code.toUpperCase() === text)
  if (has('H') && has('M') && !has('F'))
    return {
      codes: found
        .map(
          ([code]) => [code, code.toUpperCase() === 'M' ? ('FEMALE' as const) : ('MALE' as const)] as const,
        )
        .sort(byGender),
      why: 'H beside M is read as hombre and mujer; is that so?',
    }
  const [only, another] = found
  const partner =
    only === undefined || another !== undefined
      ? undefined
      : PARTNERS.find((pair) => pair.includes(only[0]))?.find((word) => word !== only[0])
  const gender = partner === undefined ? undefined : GENDERS.get(partner)
  const codes = partner === undefined || gender === undefined ? found : [...found, [partner, gender] as const]
  return { codes: codes.toSorted(byGender) }
}

/** Female first. */
const byGender = ([, a]: readonly [string, string], [, b]: readonly [string, string]): number =>
  a.localeCompare(b)
