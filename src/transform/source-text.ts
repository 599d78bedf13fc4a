/**
 * The end of every record's JSON text: the source object, up to where the batch id goes (interface, "Source object").
 * `resourceKey` is the row's key; `batchId` and `persistentRecordId` are added when the batch is cut.
 */
import type { MappingDefinition } from './mapping-definition.ts'

/** The text before and after the row's key. */
export interface SourceText {
  readonly beforeKey: string
  readonly afterKey: string
}

export function compileSource(source: MappingDefinition['row']['source']): SourceText {
  const { name, type, notes, sendingSystem, dataQuality } = source
  const outer = JSON.stringify({ name, type, ...(notes === undefined ? {} : { notes }) })
  const quality = dataQuality === undefined ? '' : `"dataQuality":${JSON.stringify(dataQuality)},`
  const system = sendingSystem === undefined ? '' : `,"sendingSystem":${JSON.stringify(sendingSystem)}`
  return {
    beforeKey: `"source":${outer.slice(0, -1)},"meta":{${quality}"resourceKey":`,
    afterKey: `${system},"batchId":"`,
  }
}
