/** Vocabulary of a draft: meaning of names, forms of dates, and the rules of earlier mappings. */
import { type KnownNames, knownNames } from '../../../../src/watch/names.ts'
import { createDateFinder, type FindDateForms } from './find-dates.ts'

/** Value in a mapping, with the name of the file. */
export interface Decided {
  readonly text: string
  readonly file: string
}

/** Codes and units of findings in earlier mappings, by the column of the code. */
export interface DecidedCodes {
  readonly codeOf: (column: string, code: string) => Decided | undefined
  readonly unitOf: (column: string, code: string) => Decided | undefined
}

export interface Vocabulary extends KnownNames {
  readonly findDates: FindDateForms
  /** Rules for codes in earlier mappings. */
  readonly decided?: DecidedCodes
}

/** Parameters as of `knownNames`. */
export function createVocabulary(...parts: Parameters<typeof knownNames>): Vocabulary {
  const names = knownNames(...parts)
  const { forms, days, times } = names.words.dates
  const findDates = createDateFinder([...forms, ...days.flatMap((day) => times.map((time) => day + time))])
  return { ...names, findDates }
}
