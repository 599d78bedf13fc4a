/**
 * Most answers name all records that were sent, in the order in which they were sent, and say of each what was sent. Such an answer is
 * recognised over its bytes, without a value made of it; every other one is read as a whole and judged by `matchAnswer`. What is
 * recognised here, `matchAnswer` would accept, record by record, with the same ids. Of a name that stands twice in an object the last
 * one counts, as with `JSON.parse`.
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
 * @param entries in the order in which they were sent
 * @param answer the body, as it came
 * @returns for each the gateway's id of the record, or undefined where it gave none; undefined where the answer says anything else
 */
export type MatchInOrder = (
  entries: readonly Entry[],
  answer: Uint8Array,
  accountIds: AccountIds,
) => readonly (string | undefined)[] | undefined

/** It remembers in which form the gateway writes its echoes, for that is quicker to compare; what it finds does not depend on it. */
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
  /** The echo that was read last field by field. */
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
  /** Of the echo that is being read; undefined where its form is of no use. */
  #marks: Mark[] | undefined
  /** Where it begins. */
  #from = 0
  readonly #compared: ComparedAnswer
  /** The date that was read last: the records of a row have the same. */
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

  /** Reads an echo; gives the gateway's id. @throws OTHERWISE where it is not certainly that of this record */
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

  /** A gateway may change how it writes: the last two that had to be read field by field are the form to go by. */
  #learn(frame: RecordFrame, marks: readonly Mark[]): void {
    const { layouts, readLast } = this.#forms
    const read = { text: this.#scan.textFrom(this.#from), marks }
    const last = readLast.get(frame)
    const layout = last && layoutOf(last, read)
    if (layout !== undefined) layouts.set(frame, layout)
    readLast.set(frame, read)
  }

  /** Of what was read last. */
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
        // An id that nobody knows must agree with the others of the answer.
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

  /** As sent, or by the id that it was resolved to. */
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
    // One that is named by its id though that is what was sent is no case to learn from.
    if (isReference) this.#marks = undefined
  }

  /** Whether it names the record. It must not name another one. */
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
