/**
 * Words of the gateway about a record, and unsuccessful outcomes. Words may name the person, so only the rejects file holds them in full; the ledger
 * holds the words known to be about nobody. Pure.
 */
import type { GatewayError } from '../gateway/gateway-error.ts'
import type { Exception, HeldRecord } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import { type EntryOutcome, ownReason, type Reason } from '../model/outcome.ts'
import { recordText } from './batch-text.ts'

/** Reason of a refusal: our words, which concern nobody, then the gateway's words, which may concern a person. */
export interface Words {
  readonly ours: string
  readonly theirs?: string
}

/** Words of a refusal, with the status first: it distinguishes refusals. */
export const refusalWords = ({
  status,
  gatewayMessage,
  message,
}: Pick<GatewayError, 'status' | 'gatewayMessage'> & { message?: string }): Words => {
  const answered = status === undefined ? '' : `HTTP ${status}: `
  if (gatewayMessage !== undefined) return { ours: answered, theirs: gatewayMessage }
  const isUnanswered = status === undefined && message !== undefined
  return { ours: isUnanswered ? message : `${answered}no reason given` }
}

/** Most characters of the gateway's words that are read, and most that are kept. */
const READ_LIMIT = 2_000
const LONGEST_MESSAGE = 300

/** Mark for omitted words. */
const LEFT_OUT = '…'

/** @param entry with the refused record: words of its row, registration or record are redacted */
export function messageOf({ ours, theirs }: Words, entry: Entry): Pick<Reason, 'message' | 'scrubbed'> {
  if (theirs === undefined) return { message: ours, scrubbed: ours }
  return { message: ours + theirs, scrubbed: (ours + knownWords(theirs, entry)).slice(0, LONGEST_MESSAGE) }
}

/**
 * Keeps the known words, in the order of the text, and puts one `…` for all between two of them. A word joined by punctuation (`account.reference`,
 * `Mary-Ann`) is known if all parts are known, except positions (`body/3/value`).
 */
function knownWords(text: string, entry: Entry): string {
  const kept: string[] = []
  let length = 0
  const isOfPerson = wordsOf(entry)
  for (const [, joined = '', mark = ''] of text
    .slice(0, READ_LIMIT)
    .matchAll(/([^\s:=,;()"{}[\]<>|]+)([:,;]?)/g)) {
    const word = knownOf(joined, isOfPerson)
    if (word === LEFT_OUT && kept.at(-1) === LEFT_OUT) continue
    kept.push(word === LEFT_OUT ? word : word + mark)
    length += word.length + 1
    if (length > LONGEST_MESSAGE) break
  }
  return kept.join(' ')
}

function knownOf(joined: string, isOfPerson: (word: string) => boolean): string {
  const lower = joined.toLowerCase()
  const whole = KNOWN_WORDS.get(lower)
  if (whole !== undefined) return isOfPerson(lower) ? LEFT_OUT : whole
  if (/^[a-z\d]*$/.test(lower)) return LEFT_OUT
  const parts: string[] = []
  const bare = joined.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')
  for (const part of bare.toLowerCase().split(/[._/'’-]/)) {
    const known = KNOWN_WORDS.get(part)
    if (known !== undefined && !isOfPerson(part)) parts.push(known)
    else if (/^\d+$/.test(part)) parts.push(LEFT_OUT)
    else return LEFT_OUT
  }
  return parts.every((part) => part === LEFT_OUT) ? LEFT_OUT : parts.join('.')
}

/** Returns a check whether a word, in lower case and ASCII, appears alone in the person's texts. The first check joins the texts. */
function wordsOf(entry: Entry): (word: string) => boolean {
  let all: string | undefined
  const answers = new Map<string, boolean>()
  return (word) => {
    all ??= folded(textsOf(entry).join('\n'))
    const known = answers.get(word) ?? standsAlone(all, word)
    answers.set(word, known)
    return known
  }
}

/** Folds text to lower case without accents, in plain letters; ASCII text keeps its characters. */
export const folded = (text: string): string =>
  (/[\u0080-\uffff]/.test(text) ? text.normalize('NFKD').replaceAll(/\p{M}/gu, '') : text).toLowerCase()

function standsAlone(text: string, word: string): boolean {
  for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + 1)) {
    if (!isLetter(text.charCodeAt(at - 1)) && !isLetter(text.charCodeAt(at + word.length))) return true
  }
  return false
}

/** False beyond the text, where the code unit is NaN. */
const isLetter = (unit: number): boolean => unit >= 0x61 && unit <= 0x7a

/**
 * Texts of the person. Registration and record may hold values joined from another export. Account and source of the record come from the mapping,
 * and are left out.
 */
function textsOf(entry: Entry): string[] {
  const { source, key, account, register } = entry.row
  const draft = register()
  const record: object = JSON.parse(recordText(entry, ''))
  return [
    ...(source.kind === 'cells' ? source.cells : stringsIn([source.value, source.context])),
    ...(draft?.ok === true ? stringsIn(draft.registration) : []),
    ...[key, account.reference],
    ...stringsIn({ ...record, account: undefined, source: undefined }),
  ]
}

/** All strings of a JSON value, without keys. */
function stringsIn(json: unknown): string[] {
  if (typeof json === 'string') return [json]
  return typeof json === 'object' && json !== null ? Object.values(json).flatMap(stringsIn) : []
}

/** Field names of the interface, "Resources and their fields" and the query parameters, for records, accounts and care teams. */
const FIELDS = `
accountReference accountReferenceType account reference type sponsor
code codes codeSystem codeSystemName name
transactionId observationDate refHigh refLow refRange value unit
source notes meta dataQuality batchId resourceKey sendingSystem persistentRecordId
status medication family history member
profile phoneNumber location address city zip npi id userId pcp createDate updateDate hydrateCareTeams
dateOfBirth firstName gender lastName partnerAccountId postalCode accountId
entity data errors message created updated
`

const TERMS = `
not no none neither nor only already still yet again later more less than too few many least most
is are was were be been has have had must should can cannot could does did
of for in on at out to the and or by with without from within before after between because this that these those its it
null empty blank missing absent required mandatory optional given present specified provided expected unexpected
valid invalid known unknown unrecognized unsupported supported allowed permitted forbidden denied unauthorized
malformed incorrect wrong inconsistent duplicate duplicated exist exists existing found conflict conflicts match matches mismatch
exceed exceeds exceeded limit limits maximum minimum range outside length size larger largest smaller smallest
greater equal less longer shorter zero negative decimal decimals digits characters whitespace
number numeric integer string text object array list boolean format formatted pattern encoding
field property properties attribute parameter parameters key values entry entries element elements item items index position
date dates time timestamp timezone zone future past year month
record records row batch request requests response body payload header headers envelope content media json
parse parsed parsing error failed failure fails rejected refused accepted stored saved deleted ignored processed unprocessable
validation validate constraint violation violated schema check
registered unregistered registration user users person patient provider team teams accounts birth postal phone identifier identifiers
biometric biometrics condition conditions measurement measurements units system systems
version server internal service gateway unavailable timeout quota temporarily retry try
token credentials access permission method implemented locked gone
`

const words = (text: string): string[] => text.split(/\s+/).filter((word) => word !== '')

/** Known words by their lower case, in our own spelling: the gateway's spelling is not kept. */
export const KNOWN_WORDS: ReadonlyMap<string, string> = new Map(
  [...words(TERMS), ...words(FIELDS)].map((word) => [word.toLowerCase(), word]),
)

/** Ledger line of an unsuccessful outcome, or of a warning; undefined for any other outcome. */
export function toException(
  identity: Pick<Identity, 'account'>,
  one: EntryOutcome | (Pick<Exception, 'batchId'> & { entry: Entry; outcome: 'warning'; reason: Reason }),
): Exception | undefined {
  if (one.outcome === 'accepted' || one.outcome === 'unchanged') return undefined
  const { outcome, batchId } = one
  const { row, kind, rule, content, account } = one.entry
  const { stage, code, field = null, scrubbed: message } = one.reason
  const { row: number, line, byteOffset } = row
  const person = identity.account(account)
  return {
    row: number,
    line,
    byteOffset,
    kind,
    rule,
    content,
    outcome,
    stage,
    code,
    field,
    message,
    batchId,
    person,
  }
}

/** Records in doubt, for the ledger. */
export function heldBy(identity: Pick<Identity, 'series'>, outcomes: readonly EntryOutcome[]): HeldRecord[] {
  const held: HeldRecord[] = []
  for (const one of outcomes) {
    if (one.outcome !== 'in-doubt' || one.isBehind) continue
    const { rowKey, content, ruleHash: rule, series } = one.entry
    held.push({ rowKey, content, rule, series: one.isAsked ? identity.series(series) : null })
  }
  return held
}

export function rejection(entry: Entry, batchId: string | null, code: string, words: Words): EntryOutcome {
  const reason: Reason = { stage: 'submit', code, ...messageOf(words, entry) }
  return { entry, outcome: 'rejected', batchId, reason }
}

/** @param error words of an error about the record in an answer of success, and the error's code */
export function listedAsError(
  entry: Entry,
  batchId: string,
  { words, code = '' }: { words: string; code?: string | undefined },
  isStale: boolean,
): EntryOutcome {
  const ours = words === '' ? code || 'no reason given' : code && `${code}: `
  const reason = { ours, ...(words === '' ? {} : { theirs: words }) }
  return rejection(entry, batchId, isStale ? 'account-stale' : 'listed-as-error', reason)
}

const OF_STALE = 'the gateway has another account of the person than before, or none'

/** Reason of records not sent because the person's account is stale (`stale-accounts.ts`). */
export const ACCOUNT_STALE = ownReason('submit', 'account-stale', `not sent: ${OF_STALE}`)
const UNCLEAR = ownReason('read-back', 'account-stale', `the record may be stored: ${OF_STALE}`)

/** Outcome of a record that is not sent. @param wasSent true where an earlier batch held the record */
export const leftByStale = (entry: Entry, wasSent: boolean): EntryOutcome =>
  wasSent ? unclearByStale(entry, null) : { entry, outcome: 'rejected', batchId: null, reason: ACCOUNT_STALE }

/** Outcome of a record that may be stored. @param batchId null where no open batch holds the record */
export const unclearByStale = (entry: Entry, batchId: string | null): EntryOutcome => ({
  entry,
  outcome: 'in-doubt',
  batchId,
  isAsked: true,
  reason: UNCLEAR,
})
