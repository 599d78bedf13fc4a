/**
 * Matches the most frequent answer: every sent record, in the order of the request, echoed with the sent values. The scan works on bytes
 * and builds no values. Any other answer is read as a whole, and judged by `matchAnswer`. `matchAnswer` would accept every record that is
 * accepted here, with the same ids. If an object names a member twice, the last one counts, as with `JSON.parse`.
 */
import { accountIdOfEntity } from '../gateway/contract/account.ts'
import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { Entry } from '../model/entry.ts'
import type { AccountIds } from '../model/outcome.ts'
import type { RecordFrame } from '../model/record.ts'
import {
  ComparedAnswer,
  type EchoLayout,
  layoutOf,
  type Mark,
  type PlaceKind,
  type ReadEcho,
} from './echo-layout.ts'
import { JsonScan, OTHERWISE } from './json-scan.ts'

/**
 * @param entries in the order of the request
 * @param answer the body as received
 * @returns for each entry the gateway's id of the record, undefined if absent; undefined for any other answer
 */
type MatchInOrder = (
  entries: readonly Entry[],
  answer: Uint8Array,
  accountIds: AccountIds,
) => readonly (string | undefined)[] | undefined

/** Remembers the form of the gateway's echoes, for speed only: the result does not depend on the form. */
export function createMatchInOrder(): MatchInOrder {
  const forms: EchoForms = { layouts: new Map(), readLast: new Map() }
  return (entries, answer, accountIds) => {
    try {
      return idsOf(new JsonScan(answer), entries, accountIds, forms)
    } catch (error) {
      if (error === OTHERWISE) return undefined
      throw error
    }
  }
}

interface EchoForms {
  readonly layouts: Map<RecordFrame, EchoLayout>
  /** The last echo that was read field by field. */
  readonly readLast: Map<RecordFrame, ReadEcho>
}

/** Section "Envelope": `code` mirrors the status, as a number or as text; `errors` is empty on success. */
function idsOf(
  scan: JsonScan,
  entries: readonly Entry[],
  accountIds: AccountIds,
  forms: EchoForms,
): (string | undefined)[] {
  let ids: (string | undefined)[] | undefined
  for (let more = scan.enterObject(); more; more = scan.nextMember()) {
    if (scan.isKey('code')) {
      const code = scan.isText() ? Number(scan.text()) : scan.number()
      if (!(code >= 200 && code < 300)) throw OTHERWISE
    } else if (scan.isKey('data')) ids = readEchoes(scan, entries, accountIds, forms)
    else if (scan.isKey('errors')) {
      if (!scan.skipNull() && scan.enterArray()) throw OTHERWISE
    } else scan.skip()
  }
  scan.end()
  if (ids === undefined) throw OTHERWISE
  return ids
}

function readEchoes(
  scan: JsonScan,
  entries: readonly Entry[],
  accountIds: AccountIds,
  forms: EchoForms,
): (string | undefined)[] {
  const ids: (string | undefined)[] = []
  const reader = new EchoReader(scan, accountIds, forms)
  for (let more = scan.enterArray(); more; more = scan.nextItem()) {
    const entry = entries[ids.length]
    if (entry === undefined) throw OTHERWISE
    ids.push(reader.read(entry))
  }
  if (ids.length !== entries.length) throw OTHERWISE
  return ids
}

class EchoReader {
  readonly #scan: JsonScan
  readonly #accountIds: AccountIds
  readonly #forms: EchoForms
  /** Marks of the current echo; undefined if its form is not to be learned. */
  #marks: Mark[] | undefined
  /** Offset of the current echo. */
  #from = 0
  readonly #compared: ComparedAnswer
  /** Last date read: records of a row share the date. */
  #instant = ''
  #instantMs: number | undefined

  constructor(scan: JsonScan, accountIds: AccountIds, forms: EchoForms) {
    this.#scan = scan
    this.#forms = forms
    this.#accountIds = accountIds
    this.#compared = new ComparedAnswer(scan.bytes, {
      instant: (text) => this.#epochMs(text),
      isAccount: (id, { account }) => accountIdOfEntity(id) === accountIds(account),
    })
  }

  /** Reads an echo; returns the gateway's id. @throws OTHERWISE if the echo may belong to another record */
  read(entry: Entry): string | undefined {
    const { frame } = entry
    const scan = this.#scan
    const layout = this.#forms.layouts.get(frame)
    const from = scan.place
    const to = layout === undefined ? -1 : this.#compared.endOf(layout, from, entry)
    if (to !== -1) {
      scan.goTo(to)
      return this.#compared.id
    }
    this.#marks = frame.kind === 'careTeam' ? undefined : []
    this.#from = from
    const id = this.#readFields(entry)
    if (this.#marks !== undefined) this.#learn(frame, this.#marks)
    return id
  }

  /** A gateway may change the form of its echoes: the last two echoes read field by field give the form. */
  #learn(frame: RecordFrame, marks: readonly Mark[]): void {
    const { layouts, readLast } = this.#forms
    const read = { text: this.#scan.textFrom(this.#from), marks }
    const last = readLast.get(frame)
    const layout = last && layoutOf(last, read)
    if (layout !== undefined) layouts.set(frame, layout)
    readLast.set(frame, read)
  }

  /** Marks the last text or number. */
  #mark(kind: PlaceKind): void {
    const [from, to] = this.#scan.span
    this.#marks?.push({ kind, from: from - this.#from, to: to - this.#from })
  }

  #readFields(entry: Entry): string | undefined {
    const scan = this.#scan
    const { transactionId, frame, provider, kind, value } = entry
    let isNamed = false
    let isNamedBySource = false
    let id: string | undefined
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (scan.isKey('transactionId')) isNamed = this.#isNamed(transactionId)
      else if (scan.isKey('id')) id = this.#readId()
      else if (scan.isKey('name')) this.#must(scan.equals(provider?.name ?? frame.name))
      else if (scan.isKey('unit') && frame.unit !== undefined) this.#must(scan.equals(frame.unit))
      else if (scan.isKey('value') && value !== undefined) this.#readValue(value)
      else if (scan.isKey('observationDate')) this.#must(this.#readInstant(entry) === entry.observedAt)
      else if (scan.isKey('codes') && kind !== 'careTeam') this.#readCodes(frame.codes)
      else if (scan.isKey('account') && kind !== 'careTeam') this.#readAccount(entry)
      else if (scan.isKey('npi') && provider !== undefined) this.#must(scan.equals(provider.npi))
      else if (scan.isKey('userId') && kind === 'careTeam') {
        // An unknown id must agree with the rest of the answer: `matchAnswer` checks.
        const userId = this.#accountIds(entry.account)
        if (userId === undefined) throw OTHERWISE
        this.#must(scan.equals(userId))
      } else if (scan.isKey('source')) isNamedBySource = this.#readSource(transactionId)
      else this.#skip()
    }
    this.#must(isNamed || isNamedBySource)
    return id
  }

  #must(holds: boolean): true {
    if (!holds) throw OTHERWISE
    return true
  }

  #skip(kind: PlaceKind = 'text'): void {
    this.#scan.skip(() => this.#mark(kind))
  }

  #isNamed(transactionId: string): true {
    this.#must(this.#scan.equals(transactionId))
    this.#mark('transactionId')
    return true
  }

  #readId(): string | undefined {
    if (!this.#scan.isText()) {
      this.#skip()
      return undefined
    }
    const id = this.#scan.text()
    this.#mark('id')
    return id
  }

  #readValue(value: string): void {
    this.#must(this.#scan.equalsNumber(value))
    if (this.#scan.stoodAs(value)) this.#mark('value')
    else this.#marks = undefined
  }

  #readInstant({ observedAt }: Entry): number | undefined {
    const scan = this.#scan
    if (scan.isText()) {
      const text = scan.text()
      this.#mark('instant')
      return this.#epochMs(text)
    }
    const ms = scan.number()
    if (scan.stoodAs(String(observedAt))) this.#mark('epochMs')
    else this.#marks = undefined
    return ms
  }

  #epochMs(text: string): number | undefined {
    if (text === this.#instant) return this.#instantMs
    this.#instant = text
    this.#instantMs = epochMsOf(text)
    return this.#instantMs
  }

  #readCodes(codes: readonly string[]): void {
    const scan = this.#scan
    let hasCode = false
    for (let more = scan.enterArray(); more; more = scan.nextItem()) {
      let isSent = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isKey('code')) isSent = scan.equalsAny(codes)
        else this.#skip()
      }
      hasCode ||= isSent
    }
    this.#must(hasCode)
  }

  /** Accepts the account as sent, or by the resolved id. */
  #readAccount({ account }: Entry): void {
    const scan = this.#scan
    let isType = false
    let isReference = false
    let type: string = account.type
    let id = account.reference
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (scan.isKey('type')) {
        isType = scan.equals(account.type)
        type = isType ? account.type : scan.textRead()
      } else if (scan.isKey('reference')) {
        isReference = scan.equals(account.reference)
        id = isReference ? account.reference : scan.textRead()
        this.#mark(isReference ? 'reference' : 'accountId')
      } else this.#skip()
    }
    if (isType && isReference) return
    this.#must(type === 'accountId' || type === 'entity')
    this.#must(accountIdOfEntity(id) === this.#accountIds(account))
    // An echo that names the account by an id, equal to the sent reference, is no pattern to learn.
    if (isReference) this.#marks = undefined
  }

  /** Returns true if the source names the record; throws if the source names another. */
  #readSource(transactionId: string): boolean {
    const scan = this.#scan
    let isNamed = false
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (!scan.isKey('meta')) {
        this.#skip()
        continue
      }
      isNamed = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isKey('persistentRecordId')) isNamed = this.#isNamed(transactionId)
        else if (scan.isKey('batchId')) this.#skip('batchId')
        else this.#skip()
      }
    }
    return isNamed
  }
}
