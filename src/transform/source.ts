/** Source object of records (interface, "Source object"), with texts from the mapping or the row. */
import { createFrame, fault, type Issue, type RecordFrame, type RecordKind } from '../model/record.ts'
import type { KeyPath } from '../system/yaml-file.ts'
import { type CompileContext, issueOf } from './compile-context.ts'
import { compileField } from './compile-field.ts'
import type { RowBlock } from './mapping-definition.ts'
import type { Scope } from './scope.ts'

/** End of a record's JSON text: the source object, up to the ids of the batch and record. */
export interface SourceText {
  readonly type: string
  /** Text before the row's key (`resourceKey`); `afterKey`: text after it. */
  readonly beforeKey: string
  readonly afterKey: string
  /** `beforeKey` with the record's note after the note of the source. */
  readonly withNote: (note: string) => string
}

export interface CompiledSource {
  /** Takes the source of a row, for its records; returns the issue of a row without a source. */
  readonly enter: (scope: Scope) => Issue | undefined
  /** Parts shared by the records of a source, made once for each source. */
  readonly each: <Made extends object>(make: (source: SourceText) => Made) => () => Made
}

const KEYS = ['name', 'type', 'notes', 'sendingSystem', 'dataQuality'] as const
type SourceValues = Partial<Record<(typeof KEYS)[number], string>>

const NO_SOURCE = fault('source-missing', 'the source has no name or no type')
/** Limit of cached sources: notes may differ in every row. */
const KEPT = 1_000

/** Compiles the block `row.source`; problems go to the context's findings. */
export function compileSource(context: CompileContext, source: RowBlock['source']): CompiledSource {
  const fields = KEYS.flatMap((key) => {
    const written = source[key]
    if (written === undefined) return []
    const path: KeyPath = ['row', 'source', key]
    const field = compileField(context, context.word(written, path), path)
    if (field.branch > 0) context.report(path, 'the source must be read from the row, not from a level')
    const isConstant = typeof written === 'string' || written.constant !== undefined
    return [{ key, field, isConstant }]
  })
  const known = new Map<string, SourceText>()
  let current: SourceText | undefined
  const isFixed = fields.every(({ isConstant }) => isConstant)
  return {
    enter(scope) {
      if (isFixed && current !== undefined) return undefined
      const values: SourceValues = {}
      for (const { key, field } of fields) {
        const text = field.read(scope)
        if (typeof text !== 'string') return issueOf(text, field.from)
        if (text !== '') values[key] = text
        else if (key === 'name' || key === 'type') return issueOf(NO_SOURCE, field.from)
      }
      const asked = JSON.stringify(values)
      const before = known.get(asked)
      current = before ?? textOf(values)
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
        // Most rows share the source of the previous row.
        if (made !== undefined && of === current) return made
        of = current
        made = kept.get(of) ?? make(of)
        kept.set(of, made)
        return made
      }
    },
  }
}

function textOf({ name = '', type = '', notes, sendingSystem, dataQuality }: SourceValues): SourceText {
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

/** Makes the frames of a record that is no observation: its own parts, each before a hole, then the source. */
export const frameOfParts = (
  { each }: CompiledSource,
  kind: RecordKind,
  ...parts: readonly string[]
): (() => RecordFrame) =>
  each(({ type, beforeKey, afterKey }) =>
    createFrame({
      kind,
      sourceType: type,
      codes: [],
      name: '',
      pieces: [...parts, `,${beforeKey}`, afterKey],
      holes: parts.map((_, at) => at),
    }),
  )

/** Time of a record that is no observation. */
export const NO_TIME = { at: 0, iso: new Date(0).toISOString() } as const
