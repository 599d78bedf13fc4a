/**
 * Text by which an export names a person: a reference, a word for none, or a damaged reference. One rule for all formats, mappings
 * and drafts. Pure.
 */
import { type Fault, fault } from '../model/record.ts'
import { isExponent } from './codes.ts'

/** Damage that was undone: the original reference is certain. */
export type Undone = 'formula' | 'invisible'

type ReadReference = { readonly reference: string; readonly undone: Undone | undefined } | Fault

/** A reference that needs no further check. */
const PLAIN = /^[A-Z]{0,8}[-_]?0*[1-9]\d{0,14}$/

/** Texts for a missing value, in lower case: from databases, spreadsheets, programs and people. */
const NONE = new Set([
  ...['null', '(null)', '<null>', '[null]', '\\n', 'none', 'nil', 'nan', '<na>', '(none)', 'nat'],
  ...['n/a', 'n.a.', 'n.a', 'na', '#n/a', '#na', 'undefined', '[object object]', 'true', 'false'],
  ...['#value!', '#ref!', '#name?', '#div/0!', '#null!', '#num!', '#error!', '#spill!', '#calc!'],
  ...['unknown', 'unk', 'unkn', '(unknown)', 'not known', 'not available', 'not applicable', 'n/k', 'nk'],
  ...['missing', '(missing)', 'empty', '(empty)', 'blank', '(blank)', 'no id', 'noid', 'anonymous', 'anon'],
  ...['tbd', 'pending', 'unassigned', 'not assigned', 'unbekannt', 'keine', 'ohne', 'inconnu', 'inconnue'],
  ...['aucun', 'aucune', 'desconocido', 'desconocida', 'ninguno', 'ninguna', 'desconhecido', 'nenhum'],
  ...['onbekend', 'geen', 'sconosciuto', 'nessuno'],
])

/** Labels of lines below a table. */
const SUMMARY =
  /^(?:(?:grand |sub-? ?)?totals?|sum|averages?|avg|mean|median|(?:std|standard)\.? ?dev(?:iation)?|count|min(?:imum)?|max(?:imum)?|(?:gesamt)?summe|gesamt|mittelwert|durchschnitt|moyenne|somme|promedio|m[eé]dia|suma|soma)[ .:=]*$/i

const NO_DIGIT_OR_LETTER = /^[^\p{L}\p{N}]*$/u
const ZEROS = /^[-+]?0+(?:[.,]0+)?$/

/** `="0012345"`: makes a spreadsheet keep the zeros. */
const FORMULA = /^="([^"]*)"$/

/** Format characters, a byte order mark among them, fillers, and variation selectors. */
const INVISIBLE = /[\p{Cf}\u115f\u1160\u3164]|\p{Variation_Selector}/gu
/** Spaces of all kinds, line ends, controls. */
const SPACES = /[\p{Cc}\p{Z}]+/gu

const DECIMALS = /^[-+]?\d+[.,]0+$/
const FLOATING = /^[-+]?\d+[.,]\d+E[-+]?\d{1,3}$/i
/** Dashes that programs put in the place of a hyphen, and characters of full width. */
const REPLACED = /[\u2010-\u2015\u2212\uff01-\uff5e]/
/** `2-Apr` for `4-2`, as a spreadsheet shows it. */
const DAY = /^\d{1,2}-(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)$/
const THOUSANDS = /^\d{1,3}(?:,\d{3})+$/

/** Damage of a reference; undefined where none shows. */
function damageOf(text: string): string | undefined {
  if (isExponent(text) || FLOATING.test(text))
    return 'is in scientific notation: a spreadsheet dropped its digits'
  if (DECIMALS.test(text)) return 'has decimals: a program read it as a number'
  if (REPLACED.test(text))
    return 'has typographic dashes or full-width characters: a program replaced the typed ones'
  if (DAY.test(text)) return 'is a day of a month: a spreadsheet converted it'
  if (THOUSANDS.test(text)) return 'has separators of thousands: it was formatted as a number'
  return text.startsWith("'") ? "begins with an apostrophe: a spreadsheet's mark for text" : undefined
}

/** A reference of FHIR (R4, "References"): a type and an id, with an optional server address before and version after. */
const FHIR_REFERENCE =
  /^(?:https?:\/\/\S+\/)?([A-Z][A-Za-z]+)\/([A-Za-z0-9\-.]{1,64})(?:\/_history\/[A-Za-z0-9\-.]{1,64})?$/
/** A reference within its document (`#p1`), by a search, or by an id known only in its document. */
const NOT_BY_ITSELF = /^(?:#|urn:(?:uuid|oid):|(?:https?:\/\/\S+\/)?(?:[A-Z][A-Za-z]+)?\?)/i

/** A path to a patient in another form: `patient/7`, `Patient/7#x`, `https://x.example/Patient/7?x=1`. */
const TO_A_PATIENT = /(?:^|\/)patient[/|#?]/i

const NO_REFERENCE = fault(
  'account-missing',
  'the reference of the person is a word for none, or the label of a line below a table',
)
const OF_ANOTHER = fault('account-unresolved', 'the reference does not lead to a patient')
const MALFORMED = fault(
  'account-unresolved',
  'the reference leads to a patient in an unknown form: its id is uncertain',
)
const UNRESOLVED = fault(
  'account-unresolved',
  'the reference leads to a part of its document, or to a search, and names no person',
)

/** No reference of a person is longer; a longer text stays unchanged. */
const LONGEST = 1_000

/** Undoes damage, for keys and references alike: a row in damaged and in clean form is one row. */
export function undone(text: string): { readonly text: string; readonly undone: Undone | undefined } {
  if (PLAIN.test(text) || text.length > LONGEST) return { text, undone: undefined }
  const visible = text.normalize('NFC').replaceAll(INVISIBLE, '').replaceAll(SPACES, ' ').trim()
  const [, inner] = FORMULA.exec(visible) ?? []
  if (inner !== undefined) return { text: inner.trim(), undone: 'formula' }
  return { text: visible, undone: visible === text ? undefined : 'invisible' }
}

/** Reads a person's reference. @param written not empty */
export function readReference(written: string): ReadReference {
  if (PLAIN.test(written) || written.length > LONGEST) return { reference: written, undone: undefined }
  const { text, undone: what } = undone(written)
  if (NONE.has(text.toLowerCase()) || [ZEROS, NO_DIGIT_OR_LETTER, SUMMARY].some((one) => one.test(text)))
    return NO_REFERENCE
  const damage = damageOf(text)
  if (damage !== undefined) return fault('account-damaged', `the reference of the person ${damage}`)
  if (NOT_BY_ITSELF.test(text)) return UNRESOLVED
  const [, type, id] = FHIR_REFERENCE.exec(text) ?? []
  if (id === undefined) return TO_A_PATIENT.test(text) ? MALFORMED : { reference: text, undone: what }
  return type === 'Patient' ? { reference: id, undone: what } : OF_ANOTHER
}

/** Digits that a spreadsheet keeps of a number (IEEE 754 double, as Excel shows it). */
const KEPT_DIGITS = 15
/** Zeros required as evidence: three together occur by chance once in a thousand. */
const ZEROS_BY_ROUNDING = 3

/** Watches the long references of an export for rounding by a spreadsheet. */
interface RoundedWatch {
  add(reference: string): void
  /** True for a number longer than a spreadsheet can keep. */
  isLong(reference: string): boolean
  /** True where every long reference has only zeros behind its 15th digit, too many for chance. */
  isRounded(): boolean
}

const isLong = (reference: string): boolean => reference.length > KEPT_DIGITS && /^[1-9]\d+$/.test(reference)

export function createRoundedWatch(): RoundedWatch {
  const zeros = new Map<string, number>()
  let isExact = false
  return {
    isLong,
    add(reference) {
      if (isExact || !isLong(reference)) return
      const behind = reference.slice(KEPT_DIGITS)
      if (/^0+$/.test(behind)) zeros.set(reference, behind.length)
      else isExact = true
    },
    isRounded: () =>
      !isExact && [...zeros.values()].reduce((sum, count) => sum + count, 0) >= ZEROS_BY_ROUNDING,
  }
}
