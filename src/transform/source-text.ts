/**
 * The end of every record's JSON text: the source object, up to where the batch id goes (interface, "Source object").
 * `resourceKey` is the row's key; `batchId` and `persistentRecordId` are added when the batch is cut.
 */
import type { RowBlock } from './mapping-definition.ts'

/** The text before and after the row's key. */
export interface SourceText {
  readonly beforeKey: string
  readonly afterKey: string
  /** The text before the row's key of a record that has a note of its own, behind that of the mapping. */
  readonly withNote: (note: string) => string
}

export function compileSource(source: RowBlock['source']): SourceText {
  const { name, type, notes, sendingSystem, dataQuality } = source
  const quality = dataQuality === undefined ? '' : `"dataQuality":${JSON.stringify(dataQuality)},`
  const system = sendingSystem === undefined ? '' : `,"sendingSystem":${JSON.stringify(sendingSystem)}`
  const beforeKey = (noted: string | undefined): string => {
    const outer = JSON.stringify({ name, type, ...(noted === undefined ? {} : { notes: noted }) })
    return `"source":${outer.slice(0, -1)},"meta":{${quality}"resourceKey":`
  }
  return {
    beforeKey: beforeKey(notes),
    afterKey: `${system},"batchId":"`,
    withNote: (note) => beforeKey(notes === undefined ? note : `${notes}; ${note}`),
  }
}
