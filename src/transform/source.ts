/** The source object of records (interface, "Source object"), alike whether the mapping or the row says its texts. */
import { fault, type Issue } from '../model/record.ts'
import type { KeyPath } from '../yaml-file.ts'
import { type CompileContext, issueOf } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/** End of a record's JSON text: the source object, up to the batch id. `batchId` and `persistentRecordId` are added when the batch is cut. */
export interface SourceText {
  readonly type: string
  /** Before and after the row's key (`resourceKey`). */
  readonly beforeKey: string
  readonly afterKey: string
  /** `beforeKey` with a note of the record behind that of the source. */
  readonly withNote: (note: string) => string
}

export interface CompiledSource {
  /** Takes the source of a row, for the records made next; returns why the row has none. */
  readonly enter: (scope: Scope) => Issue | undefined
  /** Parts that records of one source share, made once a source. */
  readonly each: <Made extends object>(make: (source: SourceText) => Made) => () => Made
}

const KEYS = ['name', 'type', 'notes', 'sendingSystem', 'dataQuality'] as const
type Said = Partial<Record<(typeof KEYS)[number], string>>

const NO_SOURCE = fault('source-missing', 'there is no name, or no type, of the source')
/** Sources that are remembered: notes may be others in every row. */
const KEPT = 1_000

/** Compiles the block `row.source`; problems go to the context's findings. */
export function compileSource(context: CompileContext, source: RowBlock['source']): CompiledSource {
  const fields = KEYS.flatMap((key) => {
    const written = source[key]
    if (written === undefined) return []
    const path: KeyPath = ['row', 'source', key]
    const field = compileField(context, context.word(written, path), path)
    if (field.branch > 0)
      context.report(path, 'the source must be read from the row itself, not from a level of it')
    const isConstant = typeof written === 'string' || written.constant !== undefined
    return [{ key, field, isConstant }]
  })
  const known = new Map<string, SourceText>()
  let current: SourceText | undefined
  const isFixed = fields.every(({ isConstant }) => isConstant)
  return {
    enter(scope) {
      if (isFixed && current !== undefined) return undefined
      const said: Said = {}
      for (const { key, field } of fields) {
        const text = field.read(scope)
        if (typeof text !== 'string') return issueOf(text, field.from)
        if (text !== '') said[key] = text
        else if (key === 'name' || key === 'type') return issueOf(NO_SOURCE, field.from)
      }
      const asked = JSON.stringify(said)
      const before = known.get(asked)
      current = before ?? textOf(said)
      if (before === undefined) {
        if (known.size >= KEPT) known.clear()
        known.set(asked, current)
      }
      return undefined
    },
    each<Made extends object>(make: (source: SourceText) => Made) {
      const kept = new WeakMap<SourceText, Made>()
      let of: SourceText | undefined
      let made: Made | undefined
      return () => {
        current ??= textOf({})
        // Most rows are of the source of the row before.
        if (made !== undefined && of === current) return made
        of = current
        made = kept.get(of) ?? make(of)
        kept.set(of, made)
        return made
      }
    },
  }
}

function textOf({ name = '', type = '', notes, sendingSystem, dataQuality }: Said): SourceText {
  const quality = dataQuality === undefined ? '' : `"dataQuality":${JSON.stringify(dataQuality)},`
  const system = sendingSystem === undefined ? '' : `,"sendingSystem":${JSON.stringify(sendingSystem)}`
  const beforeKey = (noted: string | undefined): string => {
    const outer = JSON.stringify({ name, type, ...(noted === undefined ? {} : { notes: noted }) })
    return `"source":${outer.slice(0, -1)},"meta":{${quality}"resourceKey":`
  }
  return {
    type,
    beforeKey: beforeKey(notes),
    afterKey: `${system},"batchId":"`,
    withNote: (note) => beforeKey(notes === undefined ? note : `${notes}; ${note}`),
  }
}
