/**
 * Most answers name all records that were sent, in the order in which they were sent, and say of each what was sent. Such an answer is
 * recognised over its bytes, without a value made of it; every other one is read as a whole and judged by `matchAnswer`. What is
 * recognised here, `matchAnswer` would accept, record by record, with the same ids. Of a name that stands twice in an object the last
 * one counts, as with `JSON.parse`.
 */
import { accountIdOfEntity } from '../gateway/contract/account.ts'
import { epochMsOf } from '../gateway/contract/shared-objects.ts'
import type { AccountIds, Entry } from '../model/entry.ts'
import { JsonScan, OTHERWISE } from './json-scan.ts'

/**
 * @param entries in the order in which they were sent
 * @param answer the body, as it came
 * @returns for each the gateway's id of the record, or undefined where it gave none; undefined where the answer says anything else
 */
export function matchInOrder(
  entries: readonly Entry[],
  answer: Uint8Array,
  accountIds: AccountIds,
): readonly (string | undefined)[] | undefined {
  try {
    return idsOf(new JsonScan(answer), entries, accountIds)
  } catch (error) {
    if (error === OTHERWISE) return undefined
    throw error
  }
}

/** Section "Envelope": `code` mirrors the status, as a number or as text; `errors` is empty on success. */
function idsOf(scan: JsonScan, entries: readonly Entry[], accountIds: AccountIds): (string | undefined)[] {
  let ids: (string | undefined)[] | undefined
  for (let more = scan.enterObject(); more; more = scan.nextMember()) {
    if (scan.isKey('code')) {
      const code = scan.isText() ? Number(scan.text()) : scan.number()
      if (!(code >= 200 && code < 300)) throw OTHERWISE
    } else if (scan.isKey('data')) ids = readEchoes(scan, entries, accountIds)
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
): (string | undefined)[] {
  const ids: (string | undefined)[] = []
  const reader = new EchoReader(scan, accountIds)
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
  /** The date that was read last: the records of a row have the same. */
  #instant = ''
  #instantMs: number | undefined

  constructor(scan: JsonScan, accountIds: AccountIds) {
    this.#scan = scan
    this.#accountIds = accountIds
  }

  /** Reads an echo; gives the gateway's id. @throws OTHERWISE where it is not certainly that of this record */
  read(entry: Entry): string | undefined {
    const scan = this.#scan
    const { record, transactionId } = entry
    const { evidence } = record
    let isNamed = false
    let isNamedBySource = false
    let id: string | undefined
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (scan.isKey('transactionId')) isNamed = this.#must(scan.equals(transactionId))
      else if (scan.isKey('id')) id = scan.isText() ? scan.text() : this.#skipped()
      else if (scan.isKey('name')) this.#must(scan.equals(evidence.name))
      else if (scan.isKey('unit') && evidence.unit !== undefined) this.#must(scan.equals(evidence.unit))
      else if (scan.isKey('value') && evidence.value !== undefined)
        this.#must(scan.equalsNumber(evidence.value))
      else if (scan.isKey('observationDate')) this.#must(this.#readInstant() === record.observedAt)
      else if (scan.isKey('codes') && record.kind !== 'careTeam') this.#readCodes(evidence.codes)
      else if (scan.isKey('account') && record.kind !== 'careTeam') this.#readAccount(record)
      else if (scan.isKey('npi') && evidence.npi !== undefined) this.#must(scan.equals(evidence.npi))
      else if (scan.isKey('userId') && record.kind === 'careTeam') {
        // An id that nobody knows must agree with the others of the answer.
        const userId = this.#accountIds(record.account)
        if (userId === undefined) throw OTHERWISE
        this.#must(scan.equals(userId))
      } else if (scan.isKey('source')) isNamedBySource = this.#readSource(transactionId)
      else scan.skip()
    }
    this.#must(isNamed || isNamedBySource)
    return id
  }

  #must(holds: boolean): true {
    if (!holds) throw OTHERWISE
    return true
  }

  #skipped(): undefined {
    this.#scan.skip()
    return undefined
  }

  #readInstant(): number | undefined {
    const scan = this.#scan
    if (!scan.isText()) return scan.number()
    if (scan.equals(this.#instant)) return this.#instantMs
    this.#instant = scan.textRead()
    this.#instantMs = epochMsOf(this.#instant)
    return this.#instantMs
  }

  #readCodes(codes: readonly string[]): void {
    const scan = this.#scan
    let hasCode = false
    for (let more = scan.enterArray(); more; more = scan.nextItem()) {
      let isSent = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isKey('code')) isSent = scan.equalsAny(codes)
        else scan.skip()
      }
      hasCode ||= isSent
    }
    this.#must(hasCode)
  }

  /** As sent, or by the id that it was resolved to. */
  #readAccount({ account }: Entry['record']): void {
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
      } else scan.skip()
    }
    if (isType && isReference) return
    this.#must(type === 'accountId' || type === 'entity')
    this.#must(accountIdOfEntity(id) === this.#accountIds(account))
  }

  /** Whether it names the record. It must not name another one. */
  #readSource(transactionId: string): boolean {
    const scan = this.#scan
    let isNamed = false
    for (let more = scan.enterObject(); more; more = scan.nextMember()) {
      if (!scan.isKey('meta')) {
        scan.skip()
        continue
      }
      isNamed = false
      for (let inner = scan.enterObject(); inner; inner = scan.nextMember()) {
        if (scan.isKey('persistentRecordId')) isNamed = this.#must(scan.equals(transactionId))
        else scan.skip()
      }
    }
    return isNamed
  }
}
