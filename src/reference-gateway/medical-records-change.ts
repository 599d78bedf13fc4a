import type { MedicalRecordsRequestChange } from '../gateway/contract/medical-records.ts'

type Fields = Readonly<Record<string, unknown>>

/** The blocks of a request, each with the blocks inside it: these are merged, everything else is replaced whole. */
interface Blocks {
  readonly [name: string]: Blocks
}
const BLOCKS: Blocks = { patient: {}, provider: {}, request: { datesOfService: {} }, webhook: {} }

/**
 * Section "States and transitions", an existing request: what is sent replaces, null clears, what is omitted keeps its
 * value, block by block and field by field. A cleared field is absent. Of a request that is new, nothing is kept.
 */
export function applyChange(kept: Fields | undefined, change: MedicalRecordsRequestChange): Fields {
  return merge(kept ?? {}, change, BLOCKS)
}

function merge(kept: Fields, sent: Fields, blocks: Blocks): Fields {
  const fields = new Map(Object.entries(kept))
  for (const [name, value] of Object.entries(sent)) {
    if (value === undefined) continue
    const inner = Object.hasOwn(blocks, name) ? blocks[name] : undefined
    if (value === null) fields.delete(name)
    else if (inner === undefined) fields.set(name, value)
    else fields.set(name, merge(fieldsOf(fields.get(name)), fieldsOf(value), inner))
  }
  return Object.fromEntries(fields)
}

const fieldsOf = (block: unknown): Fields => ({ ...Object(block) })
