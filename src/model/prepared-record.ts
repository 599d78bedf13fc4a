/**
 * A record ready to be sent but for its ids. Nearly all of its text is the same for all records of a rule: that is its frame. Of each record
 * only what its row says is kept, and the text is made when somebody asks for it.
 */
import { hash } from 'node:crypto'
import type { AccountKey, RecordKind } from './record.ts'

/** What is the same for all records of a rule and an entry of the catalog. */
export interface RecordFrame {
  readonly kind: RecordKind
  /**
   * JSON text around what the row says: behind the account, between the holes, and behind the row's key, up to the opening quote of the batch id.
   * Two more than there are holes; the key stands before the last.
   */
  readonly pieces: readonly string[]
  /** Of all text, in UTF-8. */
  readonly bytes: number
  /** Eight bytes of a hash of kind and pieces. No key: it holds nothing of a person. */
  readonly digest: Uint8Array
  /** `source.type`. */
  readonly sourceType: string
  /** What a record is recognised by; of a care-team entry each record says it. */
  readonly codes: readonly string[]
  readonly name: string
  readonly unit: string | undefined
}

type FrameParts = Omit<RecordFrame, 'bytes' | 'digest' | 'unit'> & { readonly unit?: string }

export const createFrame = (parts: FrameParts): RecordFrame => ({
  unit: undefined,
  ...parts,
  bytes: Buffer.byteLength(parts.pieces.join('')),
  digest: hash('sha256', [parts.kind, ...parts.pieces].join('\u0000'), 'buffer').subarray(0, 8),
})

/** What all records of a row share. */
export interface RowFacts {
  readonly account: AccountKey
  /** As the member `account`, JSON text. */
  readonly accountJson: string
  /** The row's key, JSON text. */
  readonly keyJson: string
  /** Of both texts, in UTF-8. */
  readonly bytes: number
}

/** @param key the row's key for the vendor */
export function createRowFacts({ reference, type }: AccountKey, key: string): RowFacts {
  const accountJson = `"account":${JSON.stringify({ reference, type })}`
  const keyJson = JSON.stringify(key)
  const bytes = Buffer.byteLength(accountJson) + Buffer.byteLength(keyJson)
  return { account: { reference, type }, accountJson, keyJson, bytes }
}

/** Whom a care-team entry names, as the row says it. */
export interface NamedProvider {
  readonly npi: string
  readonly name: string
  /** Whether it is the primary care physician; not there where the mapping does not say. */
  readonly primary?: boolean
}

/**
 * What identifies a record when an answer or a read does not carry our ids
 * (interface: reads carry no transactionId; the answers for conditions and care teams carry none at all).
 */
export interface Evidence {
  /** Every code the record is sent with; empty for care teams. */
  readonly codes: readonly string[]
  readonly name: string
  /** Biometrics: the value as it stands in the body, a JSON number. */
  readonly value: string | undefined
  readonly unit: string | undefined
  readonly npi: string | undefined
}

export class PreparedRecord {
  readonly frame: RecordFrame
  /** The mapping's rule, part of the transaction id: `systolic-bp`, `hba1c-2`. */
  readonly rule: string
  readonly facts: RowFacts
  /** Observation date, milliseconds since the epoch. */
  readonly observedAt: number
  /** What the row says, JSON text, in the order of the frame's holes. */
  readonly holes: readonly string[]
  /** Of a biometric record: as it stands in the body, a JSON number. */
  readonly value: string | undefined
  readonly provider: NamedProvider | undefined

  constructor(
    frame: RecordFrame,
    rule: string,
    facts: RowFacts,
    observedAt: number,
    holes: readonly string[],
    value?: string,
    provider?: NamedProvider,
  ) {
    this.frame = frame
    this.rule = rule
    this.facts = facts
    this.observedAt = observedAt
    this.holes = holes
    this.value = value
    this.provider = provider
  }

  get kind(): RecordKind {
    return this.frame.kind
  }

  get account(): AccountKey {
    return this.facts.account
  }

  get sourceType(): string {
    return this.frame.sourceType
  }

  get primary(): boolean | undefined {
    return this.provider?.primary
  }

  /** What the gateway keeps apart within an account and a source type when it returns the latest. */
  get seriesCode(): string {
    const { provider, frame } = this
    return provider === undefined ? (frame.codes[0] ?? '') : `npi:${provider.npi}`
  }

  /** Account, code and source type: of two records that share it the gateway returns the latest. Never two of one series in a batch. */
  get series(): string {
    return `${this.facts.account.reference}\u0000${this.seriesCode}\u0000${this.frame.sourceType}`
  }

  get evidence(): Evidence {
    const { frame, provider, value } = this
    const { codes, name, unit } = frame
    return { codes, name: provider?.name ?? name, value, unit, npi: provider?.npi }
  }

  /**
   * The record's JSON text from after the transaction id to the opening quote of the batch id; `load/batches.ts` adds the ids. Its
   * hash is the record's identity: same content, same record.
   */
  get content(): string {
    const { facts, holes, frame } = this
    const { pieces } = frame
    let text = facts.accountJson
    for (let at = 0; at < holes.length; at++) text += `${pieces[at]}${holes[at]}`
    return `${text}${pieces[holes.length]}${facts.keyJson}${pieces[holes.length + 1]}`
  }

  /** Of `content`, in UTF-8. */
  get contentBytes(): number {
    let bytes = this.frame.bytes + this.facts.bytes
    for (const hole of this.holes) if (hole !== '') bytes += Buffer.byteLength(hole)
    return bytes
  }
}
